#include "search/cli/run_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "core/base/error.h"
#include "core/run/random_inputs.h"

namespace inlay::cli {
namespace {

const PlanValue& input_at(const Plan& plan, std::size_t i) {
  return plan.values[static_cast<std::size_t>(plan.inputs[i])];
}

// "'ids' i64[1x8], 'mask' i64[1x8]"
std::string expected_inputs(const Plan& plan) {
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    inputs.push_back(
        fmt::format("'{}' {}", input_at(plan, i).name, to_string(input_at(plan, i).type)));
  }
  return fmt::format("{}", fmt::join(inputs, ", "));
}

class Given {
 public:
  Given(const Plan& plan, const TensorReader& reader)
      : plan_(plan), reader_(reader), tensors_(plan.inputs.size()) {}

  void read(const std::string& text) {
    const bool is_file = std::filesystem::exists(text);  // whose path may hold a '='
    const std::size_t equals = is_file ? std::string::npos : text.rfind('=');
    const std::string file = equals == std::string::npos ? text : text.substr(equals + 1);
    std::map<std::string, Tensor> found = reader_(file);
    if (equals != std::string::npos) {
      if (found.size() != 1) {
        throw Error(Code::kInvalidArgument,
                    fmt::format("--input {}: expected one array, found {}", text, found.size()));
      }
      const std::string name = text.substr(0, equals);
      if (put(name, found.begin()->second, file)) return;
      throw Error(Code::kInvalidArgument,
                  fmt::format("--input {}: the plan has no input '{}'; its inputs are {}", text,
                              name, expected_inputs(plan_)));
    }
    for (auto& [name, tensor] : found) {
      if (name.empty()) {
        put_next(std::move(tensor), file);
      } else if (!put(name, std::move(tensor), file)) {
        throw Error(Code::kInvalidArgument,
                    fmt::format("{}: array '{}' is no input of the plan, whose inputs are {}", file,
                                name, expected_inputs(plan_)));
      }
    }
  }

  RunInputs finish(std::uint64_t seed) && {
    RunInputs inputs{random_inputs(plan_, seed), std::move(notes_)};
    const bool is_any_given =
        std::any_of(tensors_.begin(), tensors_.end(), [](const auto& t) { return t.has_value(); });
    for (std::size_t i = 0; is_any_given && i < tensors_.size(); ++i) {
      if (!tensors_[i]) {
        throw Error(Code::kInvalidArgument,
                    fmt::format("--input: nothing given for input '{}'; the plan's inputs are {}",
                                input_at(plan_, i).name, expected_inputs(plan_)));
      }
      inputs.tensors[i] = std::move(*tensors_[i]);
    }
    return inputs;
  }

 private:
  // False if the plan has no input of that name.
  bool put(const std::string& name, Tensor tensor, const std::string& file) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (input_at(plan_, i).name != name) continue;
      if (tensors_[i]) {
        throw Error(Code::kInvalidArgument, fmt::format("--input: '{}' is given twice", name));
      }
      put_at(i, std::move(tensor), file);
      return true;
    }
    return false;
  }

  void put_next(Tensor tensor, const std::string& file) {
    const auto free = std::find(tensors_.begin(), tensors_.end(), std::nullopt);
    if (free == tensors_.end()) {
      throw Error(Code::kInvalidArgument,
                  fmt::format("{}: every input is given already; the plan's inputs are {}", file,
                              expected_inputs(plan_)));
    }
    const auto i = static_cast<std::size_t>(free - tensors_.begin());
    notes_.push_back(fmt::format("{}: has no name, taken as input '{}' by its position", file,
                                 input_at(plan_, i).name));
    put_at(i, std::move(tensor), file);
  }

  void put_at(std::size_t i, Tensor tensor, const std::string& file) {
    const PlanValue& input = input_at(plan_, i);
    if (tensor.type() != input.type) {
      throw Error(Code::kShapeMismatch,
                  fmt::format("{}: input '{}' expects {}, found {}", file, input.name,
                              to_string(input.type), to_string(tensor.type())));
    }
    tensors_[i] = std::move(tensor);
  }

  const Plan& plan_;
  const TensorReader& reader_;
  std::vector<std::optional<Tensor>> tensors_;  // by input
  std::vector<std::string> notes_;
};

}  // namespace

RunInputs read_inputs(const Plan& plan, const std::vector<std::string>& texts, std::uint64_t seed,
                      const TensorReader& reader) {
  Given given(plan, reader);
  for (const std::string& text : texts) given.read(text);
  return std::move(given).finish(seed);
}

std::map<std::string, Tensor> by_input_name(const Plan& plan, const std::vector<Tensor>& tensors) {
  std::map<std::string, Tensor> named;
  for (std::size_t i = 0; i < tensors.size(); ++i) named[input_at(plan, i).name] = tensors[i];
  return named;
}

}  // namespace inlay::cli
