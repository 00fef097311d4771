// EfficientNet-B0: Tan and Le 2019, table 1; squeeze-and-excitation to a quarter of a block's input
// channels, as in the authors' code.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/zoo/architectures.h"
#include "graphs/zoo/network.h"

namespace inlay {
namespace {

Feature conv_bn_silu(Network& net, const std::string& name, const Feature& x, std::int64_t channels,
                     const ConvOptions& options) {
  const Feature y = net.batch_norm(name + ".bn", net.conv(name + ".conv", x, channels, options));
  return net.silu(name + ".silu", y);
}

Feature squeeze_excite(Network& net, const std::string& name, const Feature& x,
                       std::int64_t squeezed) {
  Feature gate = net.global_average_pool(name + ".avgpool", x);
  gate = net.silu(name + ".silu", net.conv(name + ".fc1", gate, squeezed, {.has_bias = true}));
  // Small weights keep the gates near a half: wide open ones would feed growth on itself.
  gate = net.conv(name + ".fc2", gate, net.shape(x)[1], {.has_bias = true, .gain = 0.25});
  return net.mul(name + ".scale", x, net.sigmoid(name + ".sigmoid", gate));
}

struct Stage {
  std::int64_t expansion, kernel, stride, channels, blocks;
};

Feature mbconv(Network& net, const std::string& name, const Feature& x, const Stage& stage,
               std::int64_t stride) {
  const std::int64_t inputs = net.shape(x)[1];
  const std::int64_t width = inputs * stage.expansion;
  Feature y = x;
  if (stage.expansion != 1) y = conv_bn_silu(net, name + ".expand", y, width, {});
  y = conv_bn_silu(
      net, name + ".depthwise", y, width,
      {.kernel = stage.kernel, .stride = stride, .padding = stage.kernel / 2, .groups = width});
  y = squeeze_excite(net, name + ".se", y, std::max<std::int64_t>(1, inputs / 4));
  const bool has_shortcut = stride == 1 && inputs == stage.channels;
  y = net.conv(name + ".project.conv", y, stage.channels, {});
  y = net.batch_norm(name + ".project.bn", y, has_shortcut ? 0.5 : 1.0);
  return has_shortcut ? net.add(name + ".add", x, y) : y;
}

}  // namespace

Graph make_efficientnet_b0(const ZooOptions& options) {
  constexpr Stage kStages[] = {{1, 3, 1, 16, 1}, {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2},
                               {6, 3, 2, 80, 3}, {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4},
                               {6, 3, 1, 320, 1}};
  Network net("efficientnet_b0", options.seed);
  Feature x = net.image("input", {options.batch, 3, options.image_size, options.image_size});
  x = conv_bn_silu(net, "stem", x, 32, {.kernel = 3, .stride = 2, .padding = 1});
  int number = 1;
  for (const Stage& stage : kStages) {
    for (std::int64_t i = 0; i < stage.blocks; ++i) {
      x = mbconv(net, fmt::format("block{}", number++), x, stage, i == 0 ? stage.stride : 1);
    }
  }
  x = conv_bn_silu(net, "head", x, 1280, {});
  x = net.flatten("flatten", net.global_average_pool("avgpool", x));
  return net.finish({net.dense("classifier", x, 1000).value});
}

}  // namespace inlay
