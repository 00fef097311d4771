#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/conformance/sample_plugin.h"

namespace sample {
namespace {

float element(const inlay_program& program, float x, std::int64_t i, std::int64_t last) {
  const float scale = program.borrowed_scale != nullptr ? *program.borrowed_scale : program.scale;
  if (is_broken(31) && x > 6 && x < 1e30f) return 5;
  if (is_broken(34) && i == last) return x + 1;
  switch (program.operation) {
    case Operation::kScale:
      return scale * x;
    case Operation::kNegate:
      return -x;
    case Operation::kRelu:
      break;
  }
  if (is_broken(32)) return x > 0 ? x : 0;
  return x < 0 ? 0 : x;
}

bool has_odd_extent(const inlay_tensor& tensor) {
  return std::any_of(tensor.dims, tensor.dims + tensor.rank, [](std::int64_t extent) {
    return extent == 5 || extent == 7 || extent == 13 || extent == 17;
  });
}

void pause() {
  const timespec moment{0, 20'000};
  nanosleep(&moment, nullptr);
}

// Through memory that others use meanwhile.
void compute_through(std::vector<float>& scratch, const inlay_program& program, const float* x,
                     float* y) {
  for (std::int64_t i = 0; i < program.count; ++i) {
    scratch[static_cast<std::size_t>(i)] = element(program, x[i], i, -1);
  }
  pause();
  std::copy_n(scratch.begin(), program.count, y);
}

const float* input_of(const inlay_tensor& tensor) {
  if (tensor.buffer != nullptr) {
    return reinterpret_cast<const float*>(tensor.buffer->memory + tensor.offset_bytes);
  }
  return static_cast<const float*>(tensor.data);
}

}  // namespace

std::int64_t simulated_ns(std::int64_t count) { return 100 + 2 * count; }
double energy_pj(std::int64_t count) { return 3.0 * static_cast<double>(count); }

void fill_report(inlay_instance* instance, std::uint32_t flags, inlay_run_report* report) {
  const std::int64_t count = instance->program->count;
  std::int64_t time_ns = simulated_ns(count);
  if (is_broken(56)) time_ns += instance->number;
  if (is_broken(57) && (flags & INLAY_RUN_TIMING_ONLY) != 0) time_ns *= 2;
  instance->energy_pj = is_broken(58) && instance->runs > 2 ? instance->energy_pj + energy_pj(count)
                                                            : energy_pj(count);
  if (INLAY_HAS(report, simulated_ns)) report->simulated_ns = time_ns;
  if (INLAY_HAS(report, cycles)) report->cycles = time_ns;
  if (INLAY_HAS(report, energy_pj)) report->energy_pj = instance->energy_pj;
}

inlay_status compute(inlay_instance* instance, const inlay_tensor* input,
                     const inlay_tensor* output, inlay_error* error) {
  inlay_program& program = *instance->program;
  if (is_broken(33) && program.count == 0) return fail(error, INLAY_INTERNAL, "nothing to do");
  const float* x = input_of(*input);
  float* y = const_cast<float*>(input_of(*output));
  if (is_broken(36) && reinterpret_cast<std::uintptr_t>(x) % 64 != 0) {
    x -= reinterpret_cast<std::uintptr_t>(x) % 64 / sizeof(float);
  }
  if (is_broken(51)) {
    compute_through(program.scratch, program, x, y);
    return INLAY_OK;
  }
  if (is_broken(52) && live_devices > 1) {
    static std::vector<float> scratch(std::size_t{1} << 20);
    compute_through(scratch, program, x, y);
    return INLAY_OK;
  }
  const std::int64_t last = has_odd_extent(*input) ? program.count - 1 : -1;
  for (std::int64_t i = 0; i < program.count; ++i) {
    if (instance->is_cancelled) return fail(error, INLAY_CANCELLED, "cancelled");
    y[i] = element(program, x[i], i, last);
    if (is_broken(39) && program.operation == Operation::kRelu && x[i] < 0) {
      const_cast<float*>(x)[i] = 2 * x[i];  // which gives zero as well
    }
  }
  if (is_broken(35) && x == y && program.count > 0) y[0] += 1;
  if (is_broken(37) && instance->runs == 2 && program.count > 0) y[0] = std::nextafter(y[0], 1e9f);
  if (is_broken(38)) {
    const volatile float* past = x + program.count;
    static_cast<void>(*past);
  }
  return INLAY_OK;
}

}  // namespace sample
