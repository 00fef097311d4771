// VGG-19 without batch normalization: Simonyan and Zisserman 2015, configuration E.
#include <fmt/format.h>

#include "graphs/zoo/architectures.h"
#include "graphs/zoo/network.h"

namespace inlay {

Graph make_vgg19(const ZooOptions& options) {
  constexpr struct {
    std::int64_t channels;
    int convolutions;
  } kStages[] = {{64, 2}, {128, 2}, {256, 4}, {512, 4}, {512, 4}};
  Network net("vgg19", options.seed);
  Feature x = net.image("input", {options.batch, 3, options.image_size, options.image_size});
  int stage_number = 1;
  for (const auto& stage : kStages) {
    for (int i = 1; i <= stage.convolutions; ++i) {
      const std::string name = fmt::format("conv{}_{}", stage_number, i);
      x = net.conv(name, x, stage.channels, {.kernel = 3, .padding = 1, .has_bias = true});
      x = net.relu(name + ".relu", x);
    }
    x = net.max_pool(fmt::format("pool{}", stage_number++), x, {.kernel = 2, .stride = 2});
  }
  x = net.flatten("flatten", x);
  x = net.relu("fc6.relu", net.dense("fc6", x, 4096));
  x = net.relu("fc7.relu", net.dense("fc7", x, 4096));
  return net.finish({net.dense("fc8", x, 1000).value});
}

}  // namespace inlay
