#include "search/verify/expected.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "core/run/executor.h"
#include "core/run/random_inputs.h"
#include "search/lower/region_plan.h"
#include "search/verify/majorant.h"
#include "search/verify/memory_need.h"
#include "search/verify/verify.h"

namespace inlay {
namespace {

// The second range of inputs: beyond ±8 Tanh and Sigmoid are flat in f32.
constexpr float kWideFactor = 8;

constexpr const char* kRegionTolerance = "region";

// Relative size of the changes that show how a region answers to rounding: 4u, two units in the
// last place.
constexpr double kPerturbation = 4 * 0x1p-24;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// Each element of an f32 tensor through `change`; other types as they are.
template <typename Change>
Tensor changed(const Tensor& tensor, const Change& change) {
  if (tensor.dtype() != DType::kF32) return tensor;
  const std::span<const float> values = tensor.as<float>();
  Tensor result = Tensor::zeros(tensor.type());
  float* out = reinterpret_cast<float*>(result.mutable_bytes().data());
  std::transform(values.begin(), values.end(), out, change);
  return result;
}

template <typename Change>
std::vector<Tensor> changed(const std::vector<Tensor>& tensors, const Change& change) {
  std::vector<Tensor> result;
  for (const Tensor& tensor : tensors) result.push_back(changed(tensor, change));
  return result;
}

std::vector<Tensor> run_reference(const Region& region, PluginHost& host,
                                  const std::vector<Tensor>& inputs) {
  const Lowered reference = lower_reference(region, host);
  return Executor(reference.plan, reference.weights, host).run(inputs);
}

// The region with every weight a little off; parameters (kMaxInlineElements) stay, since changing
// an exponent or an epsilon asks another question.
Region perturbed(Region region, Rng& rng) {
  for (RegionValue& value : region.values) {
    if (!value.constant || element_count(value.type.shape) <= kMaxInlineElements) continue;
    value.constant = changed(*value.constant, [&rng](float v) {
      return v * static_cast<float>(1 + (rng.below(2) == 0 ? kPerturbation : -kPerturbation));
    });
  }
  return region;
}

double largest_magnitude(const Tensor& tensor) {
  if (tensor.dtype() != DType::kF32) return 0;
  double largest = 0;
  for (const float v : tensor.as<float>()) {
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(static_cast<double>(v)));
  }
  return largest;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  if (a.dtype() != DType::kF32) return 0;
  const std::span<const float> left = a.as<float>();
  const std::span<const float> right = b.as<float>();
  double largest = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const double difference =
        std::fabs(static_cast<double>(left[i]) - static_cast<double>(right[i]));
    if (std::isfinite(difference)) largest = std::max(largest, difference);
  }
  return largest;
}

Tensor filled(const TensorType& like, double number) {
  Tensor tensor = Tensor::zeros({DType::kF32, like.shape});
  float* out = reinterpret_cast<float*>(tensor.mutable_bytes().data());
  std::fill_n(out, tensor.size_bytes() / sizeof(float), static_cast<float>(number));
  return tensor;
}

// Without a majorant: the largest output, and the output's move under small changes, in units of
// the bound that compare() makes of a magnitude M: 2·c·u·M with M = Δ/(8u) is (c/4)·Δ, the move
// under changes of c·u.
std::vector<Tensor> magnitudes_by_perturbation(const Region& region, PluginHost& host,
                                               const Trial& trial, Rng& rng) {
  const auto nudge = [&rng](float v) {
    return v * static_cast<float>(1 + (rng.below(2) == 0 ? kPerturbation : -kPerturbation));
  };
  const std::vector<Tensor> inputs = changed(trial.inputs, nudge);
  const std::vector<Tensor> moved = run_reference(perturbed(region, rng), host, inputs);
  std::vector<Tensor> magnitudes;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    const double move = largest_difference(trial.outputs[i], moved[i]);
    magnitudes.push_back(filled(trial.outputs[i].type(),
                                largest_magnitude(trial.outputs[i]) + move / (2 * kPerturbation)));
  }
  return magnitudes;
}

std::vector<Tensor> absolute(const std::vector<Tensor>& tensors) {
  return changed(tensors, [](float v) { return std::fabs(v); });
}

std::vector<Tensor> trial_inputs(const Region& region, std::uint64_t seed) {
  const MaxValues limits = index_limits(region);
  std::vector<Tensor> inputs;
  Rng seeds(seed);
  for (std::size_t i = 0; i < region.inputs.size(); ++i) {
    Rng rng(seeds.next());
    const auto limit = limits.find(static_cast<int>(i));
    inputs.push_back(random_tensor(region.values[at(region.inputs[i])].type, rng,
                                   limit == limits.end() ? kDefaultMaxValue : limit->second));
  }
  return inputs;
}

// The bound by perturbation is written for f32 alone.
void refuse_other_floats(const Region& region) {
  for (const int output : region.outputs) {
    const TensorType& type = region.values[at(output)].type;
    if (is_float(type.dtype) && type.dtype != DType::kF32) {
      throw Error(
          Code::kUnsupported,
          fmt::format("tolerance accum has no bound for an output of type {}", to_string(type)));
    }
  }
}

Tolerance region_tolerance(std::size_t nodes) {
  constexpr double kOfOneNode = 2e-5;
  constexpr double kMost = 1e-3;  // what a whole model is allowed
  return {.kind = ToleranceClass::kEndToEnd,
          .relative_bound = std::min(kMost, kOfOneNode * static_cast<double>(nodes))};
}

// A change of layout alone: dense it is the identity, for which the reference has no operator.
bool is_conversion(const Region& region) {
  return region.nodes.size() == 1 && region.nodes[0].domain == "inlay" &&
         region.nodes[0].op == "Convert";
}

}  // namespace

Tolerance tolerance_for(const Region& region, const std::string& text) {
  const bool is_engines = text == kRegionTolerance;
  if (is_engines && region.nodes.size() > 1) return region_tolerance(region.nodes.size());
  Tolerance tolerance = parse_tolerance(is_engines ? "accum" : text);
  const bool is_by_ulp = tolerance.kind == ToleranceClass::kElementwise ||
                         tolerance.kind == ToleranceClass::kTranscendental;
  // A bound in ulp of the result holds for one operator only: in a chain, cancellation may leave
  // any number of them.
  if (is_by_ulp && region.nodes.size() > 1) tolerance.kind = ToleranceClass::kAccum;
  if (tolerance.kind == ToleranceClass::kAccum) {
    const std::optional<Majorant> majorant = majorant_of(region);
    if (!majorant) refuse_other_floats(region);
    const double roundings = majorant ? majorant->roundings : rounding_count(region);
    tolerance.depth = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(roundings)));
  }
  return tolerance;
}

Expected expect(const Region& region, const std::string& tolerance, PluginHost& host,
                std::uint64_t seed) {
  constexpr double kTrials = 3;
  require_memory(kTrials * (bytes_of(region, region.inputs) + bytes_of(region, region.outputs)),
                 "checking it");
  Expected expected;
  expected.tolerance = tolerance_for(region, tolerance);
  const std::vector<Tensor> first = trial_inputs(region, seed);
  const std::vector<Tensor> second = trial_inputs(region, seed + 1);
  const auto widen = [](float v) { return v * kWideFactor; };
  expected.trials.push_back({fmt::format("seed {}", seed), first, {}, {}});
  expected.trials.push_back({fmt::format("seed {}", seed + 1), second, {}, {}});
  expected.trials.push_back(
      {fmt::format("seed {} times {}", seed, kWideFactor), changed(first, widen), {}, {}});

  if (is_conversion(region)) {
    for (Trial& trial : expected.trials) trial.outputs = trial.inputs;
    return expected;
  }
  const Lowered lowered = lower_reference(region, host);
  Executor reference(lowered.plan, lowered.weights, host);
  for (Trial& trial : expected.trials) {
    const auto start = std::chrono::steady_clock::now();
    trial.outputs = reference.run(trial.inputs);
    expected.reference_time = std::max<std::chrono::duration<double>>(
        expected.reference_time, std::chrono::steady_clock::now() - start);
  }
  if (expected.tolerance.kind != ToleranceClass::kAccum) return expected;

  if (const std::optional<Majorant> majorant = majorant_of(region)) {
    const Lowered bound_plan = lower_reference(majorant->region, host);
    Executor bounds(bound_plan.plan, bound_plan.weights, host);
    for (Trial& trial : expected.trials) trial.magnitudes = bounds.run(absolute(trial.inputs));
    return expected;
  }
  Rng rng(seed);
  for (Trial& trial : expected.trials) {
    trial.magnitudes = magnitudes_by_perturbation(region, host, trial, rng);
  }
  return expected;
}

std::string difference(const Expected& expected, const Trial& trial,
                       const std::vector<Tensor>& results) {
  for (std::size_t i = 0; i < trial.outputs.size(); ++i) {
    const Comparison comparison =
        compare(trial.outputs[i], results[i], expected.tolerance, trial.magnitude(i));
    if (comparison.is_equal()) continue;
    return fmt::format("output {} ({}, {}): {}", i, to_string(trial.outputs[i].type()), trial.name,
                       describe(comparison));
  }
  return "";
}

}  // namespace inlay
