// ResNet-50 with the stride in the 3x3 convolution, and ResNeXt-50, as torchvision defines them;
// and ResNet-50 on clips, its convolutions in time as well (Hara et al. 2018).
#include <fmt/format.h>

#include "graphs/zoo/architectures.h"
#include "graphs/zoo/network.h"

namespace inlay {
namespace {

struct Bottleneck {
  std::int64_t width;  // channels of the 3x3 convolution
  std::int64_t outputs;
  std::int64_t stride;
  std::int64_t groups;
};

Feature bottleneck(Network& net, const std::string& name, const Feature& x,
                   const Bottleneck& block) {
  Feature y = net.conv(name + ".conv1", x, block.width, {});
  y = net.relu(name + ".relu1", net.batch_norm(name + ".bn1", y));
  y = net.conv(name + ".conv2", y, block.width,
               {.kernel = 3, .stride = block.stride, .padding = 1, .groups = block.groups});
  y = net.relu(name + ".relu2", net.batch_norm(name + ".bn2", y));
  // Half the scale on the branch, or the sum would grow from block to block.
  y = net.batch_norm(name + ".bn3", net.conv(name + ".conv3", y, block.outputs, {}), 0.5);
  Feature shortcut = x;
  if (net.shape(x)[1] != block.outputs || block.stride != 1) {
    shortcut = net.conv(name + ".downsample.0", x, block.outputs, {.stride = block.stride});
    shortcut = net.batch_norm(name + ".downsample.1", shortcut);
  }
  return net.relu(name + ".relu3", net.add(name + ".add", y, shortcut));
}

struct Resnet {
  std::int64_t groups = 1;
  std::int64_t group_width = 64;
  std::int64_t classes = 1000;
};

Graph make_resnet(const std::string& name, const Shape& image, std::uint64_t seed,
                  const Resnet& resnet) {
  Network net(name, seed);
  Feature x = net.image("input", image);
  x = net.conv("conv1", x, 64, {.kernel = 7, .stride = 2, .padding = 3, .frame_stride = 1});
  x = net.relu("relu", net.batch_norm("bn1", x));
  x = net.max_pool("maxpool", x, {.kernel = 3, .stride = 2, .padding = 1});
  constexpr int kBlocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const std::int64_t planes = std::int64_t{64} << stage;
    for (int i = 0; i < kBlocks[stage]; ++i) {
      const Bottleneck block = {.width = planes * resnet.group_width / 64 * resnet.groups,
                                .outputs = 4 * planes,
                                .stride = stage > 0 && i == 0 ? 2 : 1,
                                .groups = resnet.groups};
      x = bottleneck(net, fmt::format("layer{}.{}", stage + 1, i), x, block);
    }
  }
  x = net.flatten("flatten", net.global_average_pool("avgpool", x));
  return net.finish({net.dense("fc", x, resnet.classes).value});
}

Shape image_of(const ZooOptions& options) {
  return {options.batch, 3, options.image_size, options.image_size};
}

}  // namespace

Graph make_resnet50(const ZooOptions& options) {
  return make_resnet("resnet50", image_of(options), options.seed, {});
}

Graph make_resnext50(const ZooOptions& options) {
  return make_resnet("resnext50_32x4d", image_of(options), options.seed,
                     {.groups = 32, .group_width = 4});
}

Graph make_resnet3d50(const ZooOptions& options) {
  constexpr std::int64_t kFrames = 8;
  const Shape clip = {options.batch, 3, kFrames, options.image_size, options.image_size};
  return make_resnet("resnet3d50", clip, options.seed, {.classes = 400});
}

}  // namespace inlay
