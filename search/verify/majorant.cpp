#include "search/verify/majorant.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace inlay {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// 16 ulp, as the tolerance class of transcendental functions has it, in units of u.
constexpr double kFunctionRoundings = 32;

const TensorType& type_of(const Region& region, const RegionNode& node, std::size_t operand) {
  return region.values[at(node.inputs[operand])].type;
}

bool has_operand(const RegionNode& node, std::size_t operand) {
  return operand < node.inputs.size() && node.inputs[operand] >= 0;
}

double elements_of(const Shape& shape) { return static_cast<double>(element_count(shape)); }

// Elements of the first operand per element of the first output: the length of a reduction.
double reduced_length(const Region& region, const RegionNode& node) {
  const double in = elements_of(type_of(region, node, 0).shape);
  const double out = elements_of(region.values[at(node.outputs[0])].type.shape);
  return out > 0 ? in / out : 0;
}

double product(const std::vector<std::int64_t>& extents) {
  double result = 1;
  for (const std::int64_t extent : extents) result *= static_cast<double>(extent);
  return result;
}

// Roundings that the node itself adds: products summed into one result, plus one for each further
// operation.
double node_roundings(const Region& region, const RegionNode& node) {
  const std::string_view op = node.op;
  if (op == "Conv" || op == "ConvTranspose") {
    const Shape& w = type_of(region, node, 1).shape;
    const double per_output =
        op == "Conv" ? elements_of(w) / static_cast<double>(std::max<std::int64_t>(w[0], 1))
                     : elements_of(w) / static_cast<double>(std::max<std::int64_t>(w[1], 1));
    return per_output + 1;
  }
  if (op == "MatMul") return static_cast<double>(type_of(region, node, 0).shape.back());
  if (op == "Gemm") {
    const Shape& a = type_of(region, node, 0).shape;
    return static_cast<double>(get_int(node.attributes, "transA", 0) != 0 ? a[0] : a[1]) + 3;
  }
  if (op == "Einsum" && node.inputs.size() == 2) {
    // Every contracted extent stands once in each operand and not in the result.
    const double out = elements_of(region.values[at(node.outputs[0])].type.shape);
    const double both =
        elements_of(type_of(region, node, 0).shape) * elements_of(type_of(region, node, 1).shape);
    return out > 0 ? std::ceil(std::sqrt(both / out)) : 0;
  }
  if (op == "AveragePool" || op == "LpPool") {
    return product(get_ints(node.attributes, "kernel_shape", {})) + 1;
  }
  if (op == "BatchNormalization") return 6;
  if (op == "CumSum") {
    return static_cast<double>(
        type_of(region, node, 0).shape[at(static_cast<int>(get_int(node.attributes, "axis", 0)))]);
  }
  if (op == "Softmax" || op == "LogSoftmax" || op == "LpNormalization") {
    const Shape& x = type_of(region, node, 0).shape;
    return static_cast<double>(x[at(static_cast<int>(get_int(node.attributes, "axis", 0)))]) +
           kFunctionRoundings;
  }
  if (op == "LSTM" || op == "GRU" || op == "RNN") {
    const Shape& x = type_of(region, node, 0).shape;
    const Shape& r = type_of(region, node, 2).shape;
    return static_cast<double>(x[0]) * (static_cast<double>(x[2] + r[2]) + 3 * kFunctionRoundings);
  }
  if (op == "LayerNormalization" || op == "RMSNormalization") {
    const Shape& x = type_of(region, node, 0).shape;
    const auto axis = at(static_cast<int>(get_int(node.attributes, "axis", 0)));
    return product({x.begin() + static_cast<std::ptrdiff_t>(axis), x.end()}) + kFunctionRoundings;
  }
  if (op == "InstanceNormalization" || op == "GroupNormalization" ||
      op == "MeanVarianceNormalization") {
    const Shape& x = type_of(region, node, 0).shape;
    const double plane = product({x.begin() + 2, x.end()});
    const double groups =
        op == "GroupNormalization"
            ? static_cast<double>(x[1]) / static_cast<double>(std::max<std::int64_t>(
                                              get_int(node.attributes, "num_groups", 1), 1))
            : 1;
    const double batch = op == "MeanVarianceNormalization" ? static_cast<double>(x[0]) : 1;
    return plane * groups * batch + kFunctionRoundings;
  }
  if (op == "GlobalAveragePool" ||
      (op.starts_with("Reduce") && op != "ReduceMax" && op != "ReduceMin")) {
    return reduced_length(region, node) + 2;
  }
  if (op == "Add" || op == "Sub" || op == "Mul" || op == "Div") return 1;
  return kFunctionRoundings;
}

// ---- the majorant

// Moves, selects or keeps elements: exact, and the same operator moves the majorants.
constexpr std::string_view kMoving[] = {
    "Reshape",       "Transpose",      "Concat",   "Split",   "Slice",
    "Gather",        "GatherElements", "GatherND", "Expand",  "Tile",
    "DepthToSpace",  "SpaceToDepth",   "Trilu",    "Convert", "MaxPool",
    "GlobalMaxPool", "ReduceMax",      "Relu",     "Abs"};

// f with |f(x)| ≤ L·|x| and Lipschitz constant L, whose maxima were computed to three digits and
// rounded up.
struct Function {
  std::string_view op;
  double lipschitz;
};
constexpr Function kFunctions[] = {{"Tanh", 1},    {"Erf", 1.13},  {"HardSwish", 1.5},
                                   {"Gelu", 1.13}, {"Mish", 1.09}, {"Softsign", 1},
                                   {"Swish", 1.1}, {"Elu", 1}};

Tensor absolute(const Tensor& tensor) {
  const std::span<const float> values = tensor.as<float>();
  std::vector<float> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(),
                 [](float v) { return std::fabs(v); });
  return Tensor::from<float>(tensor.shape(), result);
}

class MajorantBuilder {
 public:
  explicit MajorantBuilder(const Region& region) : source_(region) { result_.region = region; }

  std::optional<Majorant> build() {
    Region& region = result_.region;
    region.pattern = "majorant";
    region.nodes.clear();
    for (RegionValue& value : region.values) {
      if (value.type.dtype == DType::kF32) {
        if (value.is_constant && value.constant) value.constant = absolute(*value.constant);
      } else if (is_float(value.type.dtype)) {
        return std::nullopt;
      }
      value.port.clear();
      value.layout = Layout::dense(static_cast<int>(value.type.shape.size()));
    }
    count_.assign(region.values.size(), 0);
    for (const RegionNode& node : source_.nodes) {
      if (!add(node)) return std::nullopt;
    }
    for (const int output : region.outputs) {
      result_.roundings = std::max(result_.roundings, count_[at(output)]);
    }
    return result_;
  }

 private:
  using Operands = std::vector<int>;

  double count(const RegionNode& node, std::size_t operand) const {
    return has_operand(node, operand) ? count_[at(node.inputs[operand])] : 0;
  }
  double largest_count(const RegionNode& node) const {
    double largest = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      largest = std::max(largest, count(node, i));
    return largest;
  }
  bool is_f32(const RegionNode& node) const {
    return std::all_of(node.outputs.begin(), node.outputs.end(), [this](int output) {
      return output < 0 || source_.values[at(output)].type.dtype == DType::kF32;
    });
  }

  void set(const RegionNode& node, double count) {
    for (const int output : node.outputs) {
      if (output >= 0) count_[at(output)] = count;
    }
  }

  // Appends the node, under another operator or with other attributes; its outputs get `count`.
  bool keep(RegionNode node, double count) {
    set(node, count);
    result_.region.nodes.push_back(std::move(node));
    return true;
  }

  int scalar(double number) {
    RegionValue value;
    value.name = "bound" + std::to_string(result_.region.values.size());
    value.type = {DType::kF32, {}};
    value.is_constant = true;
    value.constant = Tensor::from<float>({}, {static_cast<float>(number)});
    return append(std::move(value));
  }
  int append(RegionValue value) {
    result_.region.values.push_back(std::move(value));
    count_.push_back(0);
    return static_cast<int>(count_.size()) - 1;
  }

  // The node's output becomes factor·M + offset, M being the majorant of its first operand.
  bool affine(const RegionNode& node, double factor, double offset, double count) {
    const int output = node.outputs[0];
    RegionValue scaled = result_.region.values[at(output)];
    scaled.name += "_scaled";
    const int middle = append(std::move(scaled));
    result_.region.nodes.push_back(
        {node.name + "_scale", "", "Mul", {node.inputs[0], scalar(factor)}, {middle}, {}});
    result_.region.nodes.push_back(
        {node.name + "_shift", "", "Add", {middle, scalar(offset)}, {output}, {}});
    count_[at(output)] = count;
    return true;
  }

  bool add(const RegionNode& node) {
    if (node.outputs.empty() || node.outputs[0] < 0) return false;
    // What computes whole numbers or truth from exact operands is exact; from inexact ones it may
    // jump.
    if (!is_f32(node)) return largest_count(node) == 0 && keep_exact(node);
    if (node.domain != "" && node.domain != "inlay") return false;
    return add_moving(node) || add_product(node) || add_sum(node) || add_function(node);
  }

  // Whole-number operands of the original are unchanged, so the node gives what it gave; a
  // floating-point operand has become absolute and would not.
  bool keep_exact(const RegionNode& node) {
    for (const int input : node.inputs) {
      if (input >= 0 && is_float(source_.values[at(input)].type.dtype)) return false;
    }
    return keep(node, 0);
  }

  bool add_moving(const RegionNode& node) {
    const std::string_view op = node.op;
    if (std::find(std::begin(kMoving), std::end(kMoving), op) != std::end(kMoving)) {
      return keep(node, largest_count(node));
    }
    if (op == "Neg") return replace(node, "Abs", largest_count(node));
    if (op == "ReduceMin") return replace(node, "ReduceMax", largest_count(node));
    if (op == "Max" || op == "Min") return replace(node, "Max", largest_count(node));
    if (op == "Where") return keep(node, largest_count(node));
    if (op == "Pad") {
      RegionNode padded = node;
      padded.attributes["value"] = std::fabs(get_float(node.attributes, "value", 0));
      return keep(std::move(padded), largest_count(node));
    }
    if (op == "Resize" && get_string(node.attributes, "mode", "nearest") == "nearest") {
      RegionNode resized = node;
      resized.attributes["extrapolation_value"] =
          std::fabs(get_float(node.attributes, "extrapolation_value", 0));
      return keep(std::move(resized), largest_count(node));
    }
    if ((op == "ScatterElements" || op == "ScatterND") &&
        get_string(node.attributes, "reduction", "none") == "none") {
      return keep(node, largest_count(node));
    }
    return false;
  }

  bool replace(RegionNode node, const char* op, double count) {
    node.op = op;
    return keep(std::move(node), count);
  }

  bool add_product(const RegionNode& node) {
    const std::string_view op = node.op;
    const double own = node_roundings(source_, node);
    if (op == "Mul" || op == "MatMul") return keep(node, count(node, 0) + count(node, 1) + own);
    if (op == "Conv" || op == "ConvTranspose") {
      return keep(node, std::max(count(node, 0) + count(node, 1), count(node, 2)) + own);
    }
    if (op == "Gemm") {
      RegionNode gemm = node;
      for (const char* factor : {"alpha", "beta"}) {
        gemm.attributes[factor] = std::fabs(get_float(node.attributes, factor, 1));
      }
      return keep(std::move(gemm), std::max(count(node, 0) + count(node, 1), count(node, 2)) + own);
    }
    // Only a constant divisor is known to stay away from zero.
    if (op == "Div" && source_.values[at(node.inputs[1])].is_constant)
      return keep(node, count(node, 0) + own);
    return false;
  }

  bool add_sum(const RegionNode& node) {
    const std::string_view op = node.op;
    const double own = node_roundings(source_, node);
    if (op == "Add" || op == "Sub") return replace(node, "Add", largest_count(node) + own);
    if (op == "AveragePool" || op == "GlobalAveragePool" || op == "CumSum" || op == "ReduceSum" ||
        op == "ReduceMean" || op == "ReduceL1" || op == "ReduceL2") {
      return keep(node, largest_count(node) + own);
    }
    if (op == "ReduceSumSquare") return keep(node, 2 * largest_count(node) + own);
    if (op == "BatchNormalization") return add_batch_norm(node, own);
    return false;
  }

  // (x − mean)·scale/√(var + ε) + B is a sum of products once mean has turned negative.
  bool add_batch_norm(const RegionNode& node, double own) {
    for (std::size_t i = 1; i < 5; ++i) {
      if (!source_.values[at(node.inputs[i])].is_constant) return false;
    }
    RegionNode norm = node;
    RegionValue mean = result_.region.values[at(node.inputs[3])];
    std::vector<float> negative(mean.constant->as<float>().begin(),
                                mean.constant->as<float>().end());
    for (float& v : negative) v = -v;
    mean.constant = Tensor::from<float>(mean.type.shape, negative);
    norm.inputs[3] = append(std::move(mean));
    return keep(std::move(norm), count(node, 0) + own);
  }

  bool add_function(const RegionNode& node) {
    const std::string_view op = node.op;
    const double before = count(node, 0);
    for (const Function& function : kFunctions) {
      if (op != function.op) continue;
      if ((op == "Elu" || op == "Swish") && get_float(node.attributes, "alpha", 1) != 1.0f)
        return false;
      // |f̂ − f| ≤ L·before·u·M + 16 ulp of f or 16 u near zero: the offset is 16 u in the units of
      // the new count.
      const double after = before + kFunctionRoundings;
      return affine(node, function.lipschitz, kFunctionRoundings / 2 / after, after);
    }
    if (op == "LeakyRelu" && std::fabs(get_float(node.attributes, "alpha", 0)) <= 1) {
      return replace(node, "Abs", before + 1);
    }
    if (op == "PRelu" && slope_is_small(node)) return abs_of_first(node, before + 1);
    if (op == "Clip") return add_clip(node, before);
    // σ has slope at most 1/4 and |σ(x)| ≤ 1/2 + |x|/4.
    if (op == "Sigmoid") return affine(node, 0.25, 0.5, before + kFunctionRoundings);
    if (op == "Softplus") return affine(node, 1, 0.7, before + kFunctionRoundings);
    if (op == "HardSigmoid") {
      return affine(node, std::fabs(get_float(node.attributes, "alpha", 0.2f)),
                    std::fabs(get_float(node.attributes, "beta", 0.5f)), before + 2);
    }
    return false;
  }

  bool slope_is_small(const RegionNode& node) const {
    const RegionValue& slope = source_.values[at(node.inputs[1])];
    if (!slope.is_constant || !slope.constant) return false;
    const std::span<const float> values = slope.constant->as<float>();
    return std::all_of(values.begin(), values.end(), [](float v) { return std::fabs(v) <= 1; });
  }

  bool abs_of_first(const RegionNode& node, double count) {
    return keep({node.name, "", "Abs", {node.inputs[0]}, node.outputs, {}}, count);
  }

  // 1-Lipschitz, and |clip(x)| ≤ |x| if the bounds lie on both sides of zero; else it is at most
  // |x| plus a bound.
  bool add_clip(const RegionNode& node, double before) {
    if (has_operand(node, 1) || has_operand(node, 2)) return false;
    const double low = has(node.attributes, "min") ? get_float(node.attributes, "min", 0) : 0;
    const double high = has(node.attributes, "max") ? get_float(node.attributes, "max", 0) : 0;
    if (low <= 0 && high >= 0) return abs_of_first(node, before);
    return affine(node, 1, std::max(std::fabs(low), std::fabs(high)), before);
  }

  const Region& source_;
  Majorant result_;
  std::vector<double> count_;  // by value of result_.region
};

}  // namespace

std::optional<Majorant> majorant_of(const Region& region) {
  return MajorantBuilder(region).build();
}

double rounding_count(const Region& region) {
  double total = 0;
  for (const RegionNode& node : region.nodes) total += node_roundings(region, node);
  return total;
}

}  // namespace inlay
