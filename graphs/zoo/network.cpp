#include "graphs/zoo/network.h"

#include <algorithm>
#include <cmath>

namespace inlay {
namespace {

constexpr std::size_t kSampleSize = 4096;  // the mean square of a sample is then good to 2 %
// Neighbours are alike: a pool's window of any usual size has about three independent elements.
constexpr int kIndependent = 3;

// SplitMix64, the finalizer of Steele, Lea and Flood 2014: a counter becomes 64 random bits.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

double mean_square(const std::vector<float>& sample) {
  double sum = 0;
  for (const float v : sample) sum += static_cast<double>(v) * v;
  return sum / static_cast<double>(sample.size());
}

// The window along one dimension.
struct Line {
  std::int64_t kernel, stride, begin, end;
};

Line line_of(const ConvOptions& options, const Shape& from, std::size_t d) {
  const bool is_frames = d == 2 && from.size() == 5 && options.frame_stride != 0;
  Line line = {options.kernel, is_frames ? options.frame_stride : options.stride, options.padding,
               options.padding};
  if (options.is_same) {
    const std::int64_t windows = (from[d] + line.stride - 1) / line.stride;
    const std::int64_t covered = (windows - 1) * line.stride + line.kernel;
    const std::int64_t padding = std::max<std::int64_t>(covered - from[d], 0);
    line.begin = padding / 2;
    line.end = padding - padding / 2;
  }
  return line;
}

// Part of the kernel's taps that read the operand and not its padding, over all windows of a
// dimension.
double inside_share(std::int64_t extent, std::int64_t windows, const Line& line) {
  std::int64_t inside = 0;
  for (std::int64_t w = 0; w < windows; ++w) {
    for (std::int64_t k = 0; k < line.kernel; ++k) {
      const std::int64_t at = w * line.stride + k - line.begin;
      inside += at >= 0 && at < extent ? 1 : 0;
    }
  }
  return static_cast<double>(inside) / static_cast<double>(windows * line.kernel);
}

Attributes window_attributes(const ConvOptions& options, const Shape& from) {
  const std::size_t spatial = from.size() - 2;
  Shape strides(spatial);
  Shape pads(2 * spatial);
  for (std::size_t i = 0; i < spatial; ++i) {
    const Line line = line_of(options, from, i + 2);
    strides[i] = line.stride;
    pads[i] = line.begin;
    pads[i + spatial] = line.end;
  }
  return {{"kernel_shape", Shape(spatial, options.kernel)}, {"strides", strides}, {"pads", pads}};
}

}  // namespace

Network::Network(std::string name, std::uint64_t seed)
    : builder_(std::move(name)), seed_(seed), rng_(seed) {}

ValueId Network::weight(const std::string& name, Shape shape, double deviation, double mean) {
  Tensor tensor = Tensor::zeros({DType::kF32, std::move(shape)});
  const std::size_t count = tensor.size_bytes() / sizeof(float);
  auto* out = reinterpret_cast<float*>(tensor.mutable_bytes().data());
  // Four uniform numbers of 16 bits add up to mean 2 · 65535 and variance 4 · (65536² - 1) / 12.
  const auto scale = static_cast<float>(deviation / (65536.0 / std::sqrt(3.0)));
  const auto shift = static_cast<float>(mean);
  const std::uint64_t start = mix(mix(seed_) + weights_drawn_++);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = mix(start + i);
    const auto sum = static_cast<std::int32_t>((bits & 0xFFFF) + (bits >> 16 & 0xFFFF) +
                                               (bits >> 32 & 0xFFFF) + (bits >> 48));
    out[i] = shift + scale * static_cast<float>(sum - 2 * 65535);
  }
  return builder_.constant(name, std::move(tensor));
}

ValueId Network::scalar(const std::string& name, float value) {
  return builder_.constant(name, Tensor::from<float>({}, {value}));
}

std::vector<float> Network::normal_sample(double power) {
  std::vector<float> sample(kSampleSize);
  for (float& v : sample) v = static_cast<float>(rng_.normal());
  const auto scale = static_cast<float>(std::sqrt(power / mean_square(sample)));
  for (float& v : sample) v *= scale;
  return sample;
}

std::vector<float> Network::shuffled(std::vector<float> sample) {
  for (std::size_t i = sample.size(); i > 1; --i) std::swap(sample[i - 1], sample[rng_.below(i)]);
  return sample;
}

Feature Network::image(const std::string& name, Shape shape) {
  return {builder_.input(name, {DType::kF32, std::move(shape)}), normal_sample(1)};
}

Feature Network::conv(const std::string& name, const Feature& x, std::int64_t channels,
                      const ConvOptions& options) {
  const Shape from = shape(x);
  Shape weight_shape(from.size(), options.kernel);
  weight_shape[0] = channels;
  weight_shape[1] = from[1] / options.groups;
  const double fan_in =
      static_cast<double>(element_count(weight_shape)) / static_cast<double>(channels);
  std::vector<ValueId> operands = {
      x.value, weight(name + ".weight", weight_shape, options.gain * std::sqrt(2.0 / fan_in))};
  if (options.has_bias) operands.push_back(weight(name + ".bias", {channels}, 0.01));
  Attributes attributes = window_attributes(options, from);
  attributes["group"] = options.groups;
  const ValueId y = builder_.node(name, "Conv", std::move(operands), std::move(attributes));
  double power = 2 * options.gain * options.gain * mean_square(x.sample);
  for (std::size_t d = 2; d < from.size(); ++d) {
    power *= inside_share(from[d], shape(y)[d], line_of(options, from, d));
  }
  Feature result = {y, normal_sample(power)};
  // The few weights of a depthwise channel differ in total size from those of the next.
  if (fan_in <= 32) {
    for (float& v : result.sample) {
      double sum = 0;
      for (int i = 0; i < static_cast<int>(fan_in); ++i) sum += std::pow(rng_.normal(), 2);
      v *= static_cast<float>(std::sqrt(sum / fan_in));
    }
  }
  return result;
}

Feature Network::conv_transpose(const std::string& name, const Feature& x, std::int64_t channels,
                                const ConvOptions& options) {
  const Shape from = shape(x);
  Shape weight_shape(from.size(), options.kernel);
  weight_shape[0] = from[1];
  weight_shape[1] = channels;
  // An output element gathers kernel / stride taps along each dimension.
  double taps = static_cast<double>(from[1]);
  for (std::size_t d = 2; d < from.size(); ++d) {
    taps *= static_cast<double>(options.kernel) / static_cast<double>(options.stride);
  }
  const ValueId w = weight(name + ".weight", weight_shape, std::sqrt(2.0 / taps));
  const ValueId y =
      builder_.node(name, "ConvTranspose", {x.value, w}, window_attributes(options, from));
  // The taps that fall on the output: all that the operand's elements send out, less what padding
  // cuts.
  double sent = static_cast<double>(element_count(shape(x))) * static_cast<double>(channels);
  for (std::size_t d = 2; d < from.size(); ++d) {
    sent *= static_cast<double>(options.kernel) *
            inside_share(shape(y)[d], from[d], line_of(options, from, d));
  }
  const double received = sent / static_cast<double>(element_count(shape(y)));
  return {y, normal_sample(2 * mean_square(x.sample) * received / taps)};
}

Feature Network::batch_norm(const std::string& name, const Feature& x, double gain, float epsilon) {
  const std::int64_t channels = shape(x)[1];
  const double power = mean_square(x.sample);
  const ValueId scale = weight(name + ".weight", {channels}, 0.05 * gain, gain);
  const ValueId bias = weight(name + ".bias", {channels}, 0.1 * gain);
  const ValueId mean = weight(name + ".running_mean", {channels}, 0.05 * std::sqrt(power));
  const ValueId variance = weight(name + ".running_var", {channels}, 0.05 * power, power);
  const ValueId y = builder_.node(name, "BatchNormalization",
                                  {x.value, scale, bias, mean, variance}, {{"epsilon", epsilon}});
  Feature result = {y, x.sample};
  const auto factor = static_cast<float>(gain / std::sqrt(power));
  for (float& v : result.sample) v = v * factor + static_cast<float>(0.1 * gain * rng_.normal());
  return result;
}

Feature Network::dense(const std::string& name, const Feature& x, std::int64_t outputs) {
  const std::int64_t inputs = shape(x)[1];
  const ValueId w =
      weight(name + ".weight", {outputs, inputs}, std::sqrt(2.0 / static_cast<double>(inputs)));
  const ValueId b = weight(name + ".bias", {outputs}, 0.01);
  const ValueId y = builder_.node(name, "Gemm", {x.value, w, b}, {{"transB", std::int64_t{1}}});
  return {y, normal_sample(2 * mean_square(x.sample))};
}

Feature Network::apply(const std::string& name, const char* op, const Feature& x,
                       const std::function<float(float)>& function, Attributes attributes) {
  Feature y = {builder_.node(name, op, {x.value}, std::move(attributes)), x.sample};
  std::transform(y.sample.begin(), y.sample.end(), y.sample.begin(), function);
  return y;
}

Feature Network::relu(const std::string& name, const Feature& x) {
  return apply(name, "Relu", x, [](float v) { return std::max(v, 0.0f); });
}

Feature Network::relu6(const std::string& name, const Feature& x) {
  return apply(name, "Clip", x, [](float v) { return std::clamp(v, 0.0f, 6.0f); },
               {{"min", 0.0f}, {"max", 6.0f}});
}

Feature Network::tanh(const std::string& name, const Feature& x) {
  return apply(name, "Tanh", x, [](float v) { return std::tanh(v); });
}

Feature Network::sigmoid(const std::string& name, const Feature& x) {
  return apply(name, "Sigmoid", x, [](float v) { return 1.0f / (1.0f + std::exp(-v)); });
}

Feature Network::silu(const std::string& name, const Feature& x) {
  const Feature gate = sigmoid(name + ".sigmoid", x);
  Feature y = {builder_.node(name, "Mul", {x.value, gate.value}), x.sample};
  for (std::size_t i = 0; i < kSampleSize; ++i) y.sample[i] *= gate.sample[i];
  return y;
}

Feature Network::add(const std::string& name, const Feature& a, const Feature& b) {
  Feature y = {builder_.node(name, "Add", {a.value, b.value}), shuffled(b.sample)};
  for (std::size_t i = 0; i < kSampleSize; ++i) y.sample[i] += a.sample[i];
  return y;
}

Feature Network::mul(const std::string& name, const Feature& a, const Feature& b) {
  Feature y = {builder_.node(name, "Mul", {a.value, b.value}), shuffled(b.sample)};
  for (std::size_t i = 0; i < kSampleSize; ++i) y.sample[i] *= a.sample[i];
  return y;
}

Feature Network::max_pool(const std::string& name, const Feature& x, const ConvOptions& options) {
  const ValueId y = builder_.node(name, "MaxPool", {x.value}, window_attributes(options, shape(x)));
  Feature result = {y, x.sample};
  for (int i = 1; i < kIndependent; ++i) {
    const std::vector<float> other = shuffled(x.sample);
    for (std::size_t k = 0; k < kSampleSize; ++k) {
      result.sample[k] = std::max(result.sample[k], other[k]);
    }
  }
  return result;
}

Feature Network::average_pool(const std::string& name, const Feature& x,
                              const ConvOptions& options) {
  Attributes attributes = window_attributes(options, shape(x));
  attributes["count_include_pad"] = std::int64_t{0};
  Feature result = {builder_.node(name, "AveragePool", {x.value}, std::move(attributes)), x.sample};
  if (options.kernel == 1) return result;
  for (int i = 1; i < kIndependent; ++i) {
    const std::vector<float> other = shuffled(x.sample);
    for (std::size_t k = 0; k < kSampleSize; ++k) result.sample[k] += other[k];
  }
  for (float& v : result.sample) v /= kIndependent;
  return result;
}

Feature Network::concat(const std::string& name, const std::vector<Feature>& parts) {
  std::vector<ValueId> values;
  std::vector<std::size_t> part_of_channel;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    values.push_back(parts[i].value);
    part_of_channel.insert(part_of_channel.end(), static_cast<std::size_t>(shape(parts[i])[1]), i);
  }
  Feature result = {builder_.node(name, "Concat", std::move(values), {{"axis", std::int64_t{1}}}),
                    std::vector<float>(kSampleSize)};
  for (std::size_t k = 0; k < kSampleSize; ++k) {
    result.sample[k] = parts[part_of_channel[k % part_of_channel.size()]].sample[k];
  }
  return result;
}

Feature Network::shift(const std::string& name, const Feature& x) {
  const ValueId padded =
      builder_.node(name + ".pad", "Pad", {x.value}, {{"pads", Shape{0, 0, 0, 0, 0, 0, 1, 1}}});
  const Shape extent = shape(padded);
  const ValueId y = builder_.node(name, "Slice", {padded},
                                  {{"starts", Shape{1, 1}},
                                   {"axes", Shape{2, 3}},
                                   {"steps", Shape{1, 1}},
                                   {"ends", Shape{extent[2], extent[3]}}});
  return {y, x.sample};
}

Feature Network::global_average_pool(const std::string& name, const Feature& x) {
  double sum = 0;
  for (const float v : x.sample) sum += v;
  const double mean = sum / static_cast<double>(kSampleSize);
  // Channels differ from each other by about a third of what their elements do.
  const double spread = (mean_square(x.sample) - mean * mean) / 9;
  Feature y = {builder_.node(name, "GlobalAveragePool", {x.value}), normal_sample(spread)};
  for (float& v : y.sample) v += static_cast<float>(mean);
  return y;
}

Feature Network::flatten(const std::string& name, const Feature& x) {
  const std::int64_t batch = shape(x)[0];
  return {builder_.reshape(name, x.value, {batch, element_count(shape(x)) / batch}), x.sample};
}

ValueId Network::linear(const std::string& name, ValueId x, std::int64_t outputs, double gain) {
  const std::int64_t inputs = shape(x).back();
  const ValueId w =
      weight(name + ".weight", {inputs, outputs}, gain / std::sqrt(static_cast<double>(inputs)));
  const ValueId b = weight(name + ".bias", {outputs}, 0.01);
  const ValueId product = builder_.node(name + ".matmul", "MatMul", {x, w});
  return builder_.node(name, "Add", {product, b});
}

ValueId Network::layer_norm(const std::string& name, ValueId x, float epsilon) {
  const std::int64_t width = shape(x).back();
  const ValueId scale = weight(name + ".weight", {width}, 0.05, 1);
  const ValueId bias = weight(name + ".bias", {width}, 0.05);
  const auto axis = static_cast<std::int64_t>(shape(x).size()) - 1;
  return builder_.node(name, "LayerNormalization", {x, scale, bias},
                       {{"axis", axis}, {"epsilon", epsilon}});
}

Graph Network::finish(const std::vector<ValueId>& outputs) {
  for (const ValueId id : outputs) builder_.output(id);
  return builder_.build();
}

}  // namespace inlay
