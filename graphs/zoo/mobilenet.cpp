// MobileNetV2 at width 1: Sandler et al. 2018, table 2.
#include <fmt/format.h>

#include "graphs/zoo/architectures.h"
#include "graphs/zoo/network.h"

namespace inlay {
namespace {

Feature conv_bn_relu6(Network& net, const std::string& name, const Feature& x,
                      std::int64_t channels, const ConvOptions& options) {
  const Feature y = net.batch_norm(name + ".bn", net.conv(name + ".conv", x, channels, options));
  return net.relu6(name + ".relu6", y);
}

Feature inverted_residual(Network& net, const std::string& name, const Feature& x,
                          std::int64_t expansion, std::int64_t outputs, std::int64_t stride) {
  const std::int64_t inputs = net.shape(x)[1];
  const std::int64_t width = inputs * expansion;
  Feature y = x;
  if (expansion != 1) y = conv_bn_relu6(net, name + ".expand", y, width, {});
  y = conv_bn_relu6(net, name + ".depthwise", y, width,
                    {.kernel = 3, .stride = stride, .padding = 1, .groups = width});
  const bool has_shortcut = stride == 1 && inputs == outputs;
  y = net.conv(name + ".project.conv", y, outputs, {});
  y = net.batch_norm(name + ".project.bn", y, has_shortcut ? 0.5 : 1.0);
  return has_shortcut ? net.add(name + ".add", x, y) : y;
}

}  // namespace

Graph make_mobilenet_v2(const ZooOptions& options) {
  struct Stage {
    std::int64_t expansion, channels, blocks, stride;
  };
  constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                               {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  Network net("mobilenet_v2", options.seed);
  Feature x = net.image("input", {options.batch, 3, options.image_size, options.image_size});
  x = conv_bn_relu6(net, "stem", x, 32, {.kernel = 3, .stride = 2, .padding = 1});
  int number = 1;
  for (const Stage& stage : kStages) {
    for (std::int64_t i = 0; i < stage.blocks; ++i) {
      x = inverted_residual(net, fmt::format("block{}", number++), x, stage.expansion,
                            stage.channels, i == 0 ? stage.stride : 1);
    }
  }
  x = conv_bn_relu6(net, "head", x, 1280, {});
  x = net.flatten("flatten", net.global_average_pool("avgpool", x));
  return net.finish({net.dense("classifier", x, 1000).value});
}

}  // namespace inlay
