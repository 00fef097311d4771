#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>

#include "search/check/agreement.h"
#include "search/check/doing.h"
#include "search/check/families.h"
#include "search/check/program_run.h"
#include "search/check/verdict.h"
#include "search/verify/expected.h"

namespace inlay::check {
namespace {

std::vector<const Sample*> some(const OpenDevice& device, const SampleSet& set) {
  std::vector<const Sample*> list = accepted(device, set);
  if (list.empty()) fail("every sample is declined; check 26 tells why");
  return list;
}

bool is_dense(const Region& region) {
  const auto all_dense = [&](const std::vector<int>& values) {
    return std::all_of(values.begin(), values.end(), [&](int value) {
      return region.values[static_cast<std::size_t>(value)].layout.is_dense();
    });
  };
  return all_dense(region.inputs) && all_dense(region.outputs);
}

// The inputs with one number in place of the first element of each f32 tensor.
std::vector<Tensor> with_number(const std::vector<Tensor>& inputs, float number) {
  std::vector<Tensor> changed;
  for (const Tensor& input : inputs) {
    if (input.dtype() != DType::kF32 || input.size_bytes() == 0) {
      changed.push_back(input);
      continue;
    }
    Tensor copy = Tensor::zeros(input.type());
    std::memcpy(copy.mutable_bytes().data(), input.data(), input.size_bytes());
    std::memcpy(copy.mutable_bytes().data(), &number, sizeof(number));
    changed.push_back(std::move(copy));
  }
  return changed;
}

// A NaN or an infinity must not become a number: a model that went wrong would look right. Which of
// the two it becomes, and whether it spreads, is the algorithm's business (Winograd, subtraction of
// a maximum).
void require_not_hidden(const Sample& sample, float number, const std::vector<Tensor>& expected,
                        const std::vector<Tensor>& found) {
  for (std::size_t o = 0; o < expected.size(); ++o) {
    if (expected[o].dtype() != DType::kF32) continue;
    const std::span<const float> want = expected[o].as<float>();
    const std::span<const float> got = found[o].as<float>();
    for (std::size_t i = 0; i < want.size(); ++i) {
      require(std::isfinite(want[i]) || !std::isfinite(got[i]),
              "{}: with an input of {}: output {}, element {}: expected {}, found {}",
              describe(sample), number, o, i, want[i], got[i]);
    }
  }
}

// ONNX does not say what the largest of some numbers and a NaN is, and who starts from the lowest
// number gives that where all are minus infinity.
bool selects(const Region& region) {
  static constexpr std::string_view kOps[] = {"MaxPool", "GlobalMaxPool", "ReduceMax", "ReduceMin",
                                              "TopK",    "ArgMax",        "ArgMin",    "Hardmax"};
  return std::any_of(region.nodes.begin(), region.nodes.end(), [](const RegionNode& node) {
    return std::find(std::begin(kOps), std::end(kOps), node.op) != std::end(kOps);
  });
}

// Constants in memory that ends where they end; gone with `pages`.
Region with_guarded_constants(const Region& region, std::vector<std::shared_ptr<Pages>>* pages) {
  constexpr std::size_t kAlignment = 64;
  Region guarded = region;
  for (RegionValue& value : guarded.values) {
    if (!value.constant || value.constant->size_bytes() == 0) continue;
    const auto memory =
        std::make_shared<Pages>(value.constant->size_bytes(), /*at_end=*/true, kAlignment);
    std::memcpy(memory->data(), value.constant->data(), value.constant->size_bytes());
    pages->push_back(memory);
    value.constant = Tensor(value.type, std::shared_ptr<const std::byte>(memory, memory->data()));
  }
  return guarded;
}

}  // namespace

void reference_match(Subject& subject) {
  for (const Sample* sample : some(subject.device(), subject.samples())) {
    require_agrees(subject, subject.device(), *sample, Placement::kAligned,
                   /*on_all_inputs=*/true);
  }
}

void not_a_number(Subject& subject) {
  const OpenDevice& device = subject.device();
  bool has_float = false;
  for (const Sample* sample : some(device, subject.samples())) {
    const std::vector<Tensor> inputs = inputs_for(sample->region, 1);
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (const float number :
         {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity, -0.0f, 1e-41f}) {
      const std::vector<Tensor> special = with_number(inputs, number);
      if (special == inputs || (!std::isfinite(number) && selects(sample->region))) continue;
      has_float = true;
      doing("{} with an input of {}", describe(*sample), number);
      require_not_hidden(*sample, number, reference_outputs(subject, *sample, special),
                         run_once(device, sample->region, special));
    }
  }
  if (!has_float) skip("no pattern takes f32");
}

void zero_size(Subject& subject) {
  const OpenDevice& device = subject.device();
  const SampleSet& set = subject.samples(SampleKind::kEmpty);
  if (set.list.empty()) skip("the patterns' constraints leave no room for an extent of zero");
  for (const Sample* sample : accepted(device, set)) {
    doing("{}", describe(*sample));
    try {
      reference_outputs(subject, *sample, inputs_for(sample->region, 1));
    } catch (const Skipped&) {
      continue;  // as the maximum of nothing
    }
    require_agrees(subject, device, *sample);
  }
}

void odd_shapes(Subject& subject) {
  for (const Sample* sample : some(subject.device(), subject.samples(SampleKind::kOdd))) {
    require_agrees(subject, subject.device(), *sample);
  }
}

void declared_alias(Subject& subject) {
  const OpenDevice& device = subject.device();
  const auto& patterns = subject.manifest().patterns;
  if (std::all_of(patterns.begin(), patterns.end(),
                  [](const ManifestPattern& pattern) { return pattern.alias.empty(); })) {
    skip("the manifest declares no alias");
  }
  bool is_tried = false;
  for (const Sample* sample : accepted(device, subject.samples())) {
    for (const auto& [output, input] : sample->aliases) {
      is_tried = true;
      doing("{} with output {} in the memory of input {}", describe(*sample), output, input);
      const std::vector<Tensor> inputs = inputs_for(sample->region, 1);
      const Compiled compiled = compile(device, sample->region);
      Run run(device, compiled, sample->region);
      run.alias(output, input);
      run.fill_outputs();
      run.set_inputs(inputs);
      const Answer answer = run.enqueue();
      require(answer.is_ok(), "{}: enqueue in place: expected INLAY_OK, found {}",
              describe(*sample), describe(answer));
      require_equal(subject, *sample, inputs, run.outputs(), "in place");
    }
  }
  if (!is_tried) skip_undeclared("aliases are declared, but no sample has one");
}

void misaligned_input(Subject& subject) {
  bool is_tried = false;
  for (const Sample* sample : some(subject.device(), subject.samples())) {
    if (!is_dense(sample->region)) continue;  // the host's own tensors, which it aligns
    is_tried = true;
    require_agrees(subject, subject.device(), *sample, Placement::kElementAligned);
  }
  if (!is_tried) skip("every pattern's tensors are in layouts that only the host makes");
}

void repeatable(Subject& subject) {
  const OpenDevice& device = subject.device();
  for (const Sample* sample : some(device, subject.samples())) {
    doing("{}", describe(*sample));
    const Compiled compiled = compile(device, sample->region);
    const std::vector<Tensor> inputs = inputs_for(sample->region, 1);
    const auto result = [&](Run& run) {
      run.set_inputs(inputs);
      run.fill_outputs();
      const Answer answer = run.enqueue();
      require(answer.is_ok(), "{}: enqueue: expected INLAY_OK, found {}", describe(*sample),
              describe(answer));
      return run.outputs();
    };
    Run first(device, compiled, sample->region);
    Run second(device, compiled, sample->region);
    const std::vector<Tensor> expected = result(first);
    if (compiled.info.is_deterministic == 0) {
      require_equal(subject, *sample, inputs, result(first), "a second run");
      continue;
    }
    require(result(first) == expected, "{}: a second run of an instance gives other bits",
            describe(*sample));
    require(result(second) == expected, "{}: a second instance gives other bits",
            describe(*sample));
  }
}

void guard_pages(Subject& subject) {
  const OpenDevice& device = subject.device();
  for (const SampleKind kind : {SampleKind::kPlain, SampleKind::kOdd}) {
    for (const Sample* sample : some(device, subject.samples(kind))) {
      const std::vector<Tensor> inputs = inputs_for(sample->region, 1);
      std::vector<std::shared_ptr<Pages>> pages;
      const Region region = with_guarded_constants(sample->region, &pages);
      for (const Placement placement : {Placement::kGuardEnd, Placement::kGuardStart}) {
        doing("{} in memory that {}", describe(*sample),
              placement == Placement::kGuardEnd ? "ends with its tensors"
                                                : "begins with its tensors");
        run_once(device, region, inputs, placement);
      }
    }
  }
}

void inputs_unmodified(Subject& subject) {
  const OpenDevice& device = subject.device();
  for (const Sample* sample : some(device, subject.samples())) {
    doing("{}", describe(*sample));
    std::vector<std::string> constants;
    for (const RegionValue& value : sample->region.values) {
      if (value.constant) {
        constants.emplace_back(reinterpret_cast<const char*>(value.constant->data()),
                               value.constant->size_bytes());
      }
    }
    const Compiled compiled = compile(device, sample->region);
    Run run(device, compiled, sample->region);
    run.set_inputs(inputs_for(sample->region, 1));
    run.fill_outputs();
    const std::vector<std::string> given = run.raw_inputs();
    const Answer answer = run.enqueue();
    require(answer.is_ok(), "{}: enqueue: expected INLAY_OK, found {}", describe(*sample),
            describe(answer));
    require(run.raw_inputs() == given, "{}: an input was written", describe(*sample));
    std::size_t next = 0;
    for (const RegionValue& value : sample->region.values) {
      if (!value.constant) continue;
      require(
          std::memcmp(value.constant->data(), constants[next].data(), constants[next].size()) == 0,
          "{}: the constant '{}' was written", describe(*sample), value.name);
      ++next;
    }
  }
}

}  // namespace inlay::check
