// The generator of DCGAN (Radford et al. 2016) for 64x64 pictures, as in PyTorch's examples, and a
// two-layer LSTM.
#include <fmt/format.h>

#include <cmath>

#include "graphs/zoo/architectures.h"
#include "graphs/zoo/network.h"

namespace inlay {

Graph make_dcgan(const ZooOptions& options) {
  constexpr std::int64_t kChannels[] = {512, 256, 128, 64};
  Network net("dcgan", options.seed);
  Feature x = net.image("noise", {options.batch, 100, 1, 1});
  int number = 1;
  for (const std::int64_t channels : kChannels) {
    const std::string name = fmt::format("deconv{}", number);
    const ConvOptions first = {.kernel = 4};
    const ConvOptions doubling = {.kernel = 4, .stride = 2, .padding = 1};
    x = net.conv_transpose(name, x, channels, number == 1 ? first : doubling);
    x = net.relu(name + ".relu", net.batch_norm(name + ".bn", x));
    ++number;
  }
  x = net.conv_transpose("deconv5", x, 3, {.kernel = 4, .stride = 2, .padding = 1});
  return net.finish({net.tanh("tanh", x).value});
}

Graph make_lstm(const ZooOptions& options) {
  constexpr std::int64_t kInputs = 256;
  constexpr std::int64_t kHidden = 512;
  Network net("lstm", options.seed);
  GraphBuilder& b = net.builder();
  const std::int64_t length = options.sequence_length;
  ValueId x = b.input("input", {DType::kF32, {length, options.batch, kInputs}});
  for (int i = 0; i < 2; ++i) {
    const std::string name = fmt::format("lstm{}", i);
    const std::int64_t inputs = net.shape(x)[2];
    const auto deviation = [](std::int64_t fan_in) {
      return 1.0 / std::sqrt(static_cast<double>(fan_in));
    };
    const ValueId w = net.weight(name + ".weight_ih", {1, 4 * kHidden, inputs}, deviation(inputs));
    const ValueId r =
        net.weight(name + ".weight_hh", {1, 4 * kHidden, kHidden}, deviation(kHidden));
    const ValueId bias = net.weight(name + ".bias", {1, 8 * kHidden}, 0.05);
    const ValueId y = b.node(name, "LSTM", {x, w, r, bias}, {{"hidden_size", kHidden}});
    x = b.reshape(name + ".squeeze", y, {length, options.batch, kHidden});
  }
  return net.finish({x});
}

}  // namespace inlay
