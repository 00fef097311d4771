// A whole plugin for the kit's own tests: every optional table, a device on the host and a
// simulated one with memory of its own, and a fault for each check, which INLAY_MUTANT=38 in the
// environment chooses. Written against the C header alone, as a plugin in another language is.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "core/abi/inlay_plugin.h"

namespace sample {

// Whether the fault that the check of this number finds is to be there.
bool is_broken(int check);

inlay_status fail(inlay_error* error, inlay_status status, const std::string& text);

enum class Operation { kRelu, kScale, kNegate };

// ---- State, sample_plugin.cpp

extern std::atomic<int> live_devices;
extern inlay_host host;

}  // namespace sample

struct inlay_device {
  int index;
};

struct inlay_program {
  inlay_device* device;
  sample::Operation operation;
  float scale;
  const float* borrowed_scale;  // of the fault that reads constants it does not retain
  const inlay_compile_request* borrowed_request;  // of the fault that keeps what it was lent
  std::int64_t count;
  std::vector<float> scratch;  // of the fault that shares it
  std::atomic<int> instances{0};
};

struct inlay_instance {
  inlay_program* program;
  int number;
  std::atomic<bool> is_cancelled{false};
  int runs = 0;
  double energy_pj = 0;
};

struct inlay_buffer {
  char* memory;
  std::uint64_t size_bytes;
};

namespace sample {

// ---- Kernels, sample_kernels.cpp

inlay_status compute(inlay_instance* instance, const inlay_tensor* input,
                     const inlay_tensor* output, inlay_error* error);
void fill_report(inlay_instance* instance, std::uint32_t flags, inlay_run_report* report);
std::int64_t simulated_ns(std::int64_t count);
double energy_pj(std::int64_t count);

// ---- Tables, sample_streams.cpp and sample_memory.cpp

extern const inlay_stream_table kStreams;
extern const inlay_memory_table kMemory;

// Runs the work on the stream's thread.
void push_work(inlay_stream* stream, inlay_instance* instance, const inlay_tensor& input,
               const inlay_tensor& output);

// ---- Artefacts, sample_artefacts.cpp

inlay_status save_program(inlay_program* program, const char* identity,
                          inlay_status (*write)(void*, const void*, std::uint64_t), void* argument,
                          inlay_error* error);
inlay_status load_program(inlay_device* device, const void* bytes, std::uint64_t size_bytes,
                          const char* identity, inlay_error* error, inlay_program** out);

}  // namespace sample
