// Compiling and running a region by the plugin's table, in memory of the check's choosing.
//
//   Compiled compiled = compile(device, region);
//   if (compiled.program == nullptr) ... compiled.answer says why
//   Run run(device, compiled, region, Placement::kGuardEnd);
//   run.set_inputs(inputs);
//   const Answer answer = run.enqueue();
//   run.outputs()
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/tensor.h"
#include "core/host/region_view.h"
#include "core/plan/region.h"
#include "search/check/plugin.h"

namespace inlay::check {

// Bytes from the system, gone with this object.
class Pages {
 public:
  // Between two pages that may not be touched. `size_bytes` end where the second begins, or begin
  // where the first ends.
  Pages(std::size_t size_bytes, bool at_end, std::size_t alignment);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::byte* data() const { return data_; }
  void forbid();  // from now on any access ends the process

 private:
  std::byte* mapping_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::byte* data_ = nullptr;
};

enum class Placement {
  kAligned,         // to 64 bytes
  kElementAligned,  // to the element and to nothing more
  kGuardEnd,        // ends where memory ends
  kGuardStart,      // begins where memory begins
};

struct CompileRequest {
  int thread_cap = 2;
  const char* option_key = nullptr;
  const char* option_value = "1";
  const char* pattern = nullptr;  // instead of the region's
};

struct Compiled {
  Answer answer;
  ProgramPtr program;
  inlay_program_info info{};
  std::unique_ptr<RegionView> view;  // null once the program does not need it
};

// Asks for program_info too. The view lives as long as the result says it is needed.
// throws  Failure where the plugin breaks the ABI's rules: a status it does not have, OK without a
//         program, a program that was made in spite of an error
Compiled compile(const OpenDevice& device, const Region& region,
                 const CompileRequest& request = {});

inline constexpr std::uint8_t kFiller = 0xA5;

// An instance with tensors bound to it.
class Run {
 public:
  // device, compiled  outlive this
  // throws  Failure if no instance can be created
  Run(const OpenDevice& device, const Compiled& compiled, const Region& region,
      Placement placement = Placement::kAligned);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // dense tensors in the region's order
  void set_inputs(const std::vector<Tensor>& inputs);
  void fill_outputs();  // with kFiller
  // Output `output` in the memory of input `input`.
  void alias(int output, int input);

  Answer enqueue(std::uint32_t flags = 0, inlay_stream* stream = nullptr,
                 inlay_run_report* report = nullptr);
  // The same with another number of inputs, which is a mistake of the caller's.
  Answer enqueue_inputs(int count);

  std::vector<Tensor> outputs();                // dense copies
  std::vector<std::string> raw_inputs() const;  // the bytes as they lie
  std::vector<std::string> raw_outputs() const;
  inlay_instance* instance() const { return instance_.get(); }

 private:
  struct Memory;
  std::unique_ptr<Memory> make_memory(const RegionValue& value, Placement placement) const;
  void copy(const Memory& memory, bool to_device) const;
  Answer call(int inputs, std::uint32_t flags, inlay_stream* stream, inlay_run_report* report);

  const OpenDevice& device_;
  std::vector<std::unique_ptr<Memory>> inputs_;
  std::vector<std::unique_ptr<Memory>> outputs_;
  std::unique_ptr<Pages> workspace_;
  InstancePtr instance_;
};

// compile, instantiate, run once and check each status on the way.
// throws  Failure
std::vector<Tensor> run_once(const OpenDevice& device, const Region& region,
                             const std::vector<Tensor>& inputs,
                             Placement placement = Placement::kAligned);

// Seeded dense inputs for a region; what indexes stays inside.
std::vector<Tensor> inputs_for(const Region& region, std::uint64_t seed);

}  // namespace inlay::check
