// Layers with weights: what the architectures of the zoo are written in.
//
//   Network net("small", seed);
//   Feature x = net.image("input", {1, 3, 32, 32});
//   x = net.relu("relu", net.batch_norm("bn", net.conv("conv", x, 16, {.kernel = 3, .padding =
//   1})));
//
// Every weight is drawn from the seed and the number of weights drawn before it. A feature carries
// a sample of the values its elements take, followed through the layers as if operands were
// independent; batch normalization gets its statistics from it, which keeps the scale of the
// activations through any depth without running the network.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "graphs/ir/graph.h"

namespace inlay {

struct Feature {
  ValueId value;
  std::vector<float> sample;
};

// A window, the same along every dimension but for what is said.
struct ConvOptions {
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t groups = 1;
  bool has_bias = false;
  double gain = 1;                // scales the weights
  std::int64_t frame_stride = 0;  // along the first of three dimensions; 0: as the others
  // Pads so that the output has ceil(extent / stride) elements, the odd one at the end, as
  // TensorFlow's SAME does; `padding` does not count.
  bool is_same = false;
};

class Network {
 public:
  Network(std::string name, std::uint64_t seed);

  GraphBuilder& builder() { return builder_; }
  const Shape& shape(ValueId value) const { return builder_.value(value).type.shape; }
  const Shape& shape(const Feature& x) const { return shape(x.value); }

  // A constant of normal numbers (in fact a sum of four uniform ones, which ends at 3.46
  // deviations).
  ValueId weight(const std::string& name, Shape shape, double deviation, double mean = 0);
  ValueId scalar(const std::string& name, float value);

  // An input of standard normal pixels.
  Feature image(const std::string& name, Shape shape);

  // Weights of deviation sqrt(2 / fan-in): He et al. 2015, "Delving Deep into Rectifiers".
  Feature conv(const std::string& name, const Feature& x, std::int64_t channels,
               const ConvOptions& options);
  Feature conv_transpose(const std::string& name, const Feature& x, std::int64_t channels,
                         const ConvOptions& options);
  // Scale about `gain`, shift about 0, statistics near those of the sample.
  Feature batch_norm(const std::string& name, const Feature& x, double gain = 1.0,
                     float epsilon = 1e-5f);
  // x times a transposed weight [outputs, inputs], plus a bias; x of rank 2.
  Feature dense(const std::string& name, const Feature& x, std::int64_t outputs);

  Feature relu(const std::string& name, const Feature& x);
  Feature relu6(const std::string& name, const Feature& x);
  Feature tanh(const std::string& name, const Feature& x);
  Feature sigmoid(const std::string& name, const Feature& x);
  Feature silu(const std::string& name, const Feature& x);  // x times sigmoid(x), as exported
  Feature add(const std::string& name, const Feature& a, const Feature& b);
  Feature mul(const std::string& name, const Feature& a, const Feature& b);
  Feature max_pool(const std::string& name, const Feature& x, const ConvOptions& options);
  // Over the elements that are there: padding does not count.
  Feature average_pool(const std::string& name, const Feature& x, const ConvOptions& options);
  Feature concat(const std::string& name, const std::vector<Feature>& parts);  // of the channels
  // x moved by one to the left and up, zeros where nothing comes from.
  Feature shift(const std::string& name, const Feature& x);
  // The mean over space, as [N, C, 1, ...]; flatten makes it [N, C].
  Feature global_average_pool(const std::string& name, const Feature& x);
  Feature flatten(const std::string& name, const Feature& x);

  // The transformer's layers work on plain values: layer normalization keeps their scale.
  // x [..., inputs] times a weight [inputs, outputs] of deviation gain / sqrt(inputs), plus a bias.
  ValueId linear(const std::string& name, ValueId x, std::int64_t outputs, double gain = 1.0);
  ValueId layer_norm(const std::string& name, ValueId x, float epsilon);

  Graph finish(const std::vector<ValueId>& outputs);

 private:
  Feature apply(const std::string& name, const char* op, const Feature& x,
                const std::function<float(float)>& function, Attributes attributes = {});
  std::vector<float> normal_sample(double power);
  std::vector<float> shuffled(std::vector<float> sample);

  GraphBuilder builder_;
  std::uint64_t seed_;
  std::uint64_t weights_drawn_ = 0;
  Rng rng_;  // for the samples alone
};

}  // namespace inlay
