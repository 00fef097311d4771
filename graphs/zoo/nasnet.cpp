// NASNet-A for mobile, 4 @ 1056: Zoph et al. 2018, figure 4 and appendix A; strides and paddings as
// in the authors' code (convolutions and pools there pad as SAME does).
#include <fmt/format.h>

#include "graphs/zoo/architectures.h"
#include "graphs/zoo/network.h"

namespace inlay {
namespace {

constexpr float kEpsilon = 1e-3f;
constexpr std::int64_t kFilters = 1056 / 24;

Feature relu_conv_bn(Network& net, const std::string& name, const Feature& x,
                     std::int64_t channels) {
  Feature y = net.conv(name + ".conv", net.relu(name + ".relu", x), channels, {});
  return net.batch_norm(name + ".bn", y, 1.0, kEpsilon);
}

// ReLU, depthwise and pointwise convolution and batch normalization, twice; the stride in the
// first. Half the scale, for each is added to something.
Feature separable(Network& net, const std::string& name, Feature x, std::int64_t channels,
                  std::int64_t kernel, std::int64_t stride) {
  for (int i = 1; i <= 2; ++i) {
    const std::string part = fmt::format("{}.{}", name, i);
    const ConvOptions depthwise = {.kernel = kernel,
                                   .stride = i == 1 ? stride : 1,
                                   .groups = net.shape(x)[1],
                                   .is_same = true};
    x = net.relu(part + ".relu", x);
    x = net.conv(part + ".depthwise", x, net.shape(x)[1], depthwise);
    x = net.conv(part + ".pointwise", x, channels, {});
    x = net.batch_norm(part + ".bn", x, i == 1 ? 1.0 : 0.7, kEpsilon);
  }
  return x;
}

// Halves the size without losing every other row: two paths, one of them shifted by one, with half
// of the channels each.
Feature factorized_reduction(Network& net, const std::string& name, const Feature& x,
                             std::int64_t channels) {
  const Feature rectified = net.relu(name + ".relu", x);
  const auto path = [&](const std::string& path_name, const Feature& from) {
    const Feature y = net.average_pool(path_name + ".avgpool", from, {.stride = 2});
    return net.conv(path_name + ".conv", y, channels / 2, {});
  };
  const Feature straight = path(name + ".path1", rectified);
  const Feature shifted = path(name + ".path2", net.shift(name + ".path2.shift", rectified));
  return net.batch_norm(name + ".bn", net.concat(name + ".concat", {straight, shifted}), 1.0,
                        kEpsilon);
}

// The output of the cell before the last one, brought to the channels and the size of the last.
Feature fit_previous(Network& net, const std::string& name, const Feature& previous,
                     const Feature& x, std::int64_t channels) {
  if (net.shape(previous)[2] != net.shape(x)[2]) {
    return factorized_reduction(net, name, previous, channels);
  }
  return relu_conv_bn(net, name, previous, channels);
}

Feature normal_cell(Network& net, const std::string& name, const Feature& x,
                    const Feature& previous, std::int64_t channels, std::int64_t left_channels) {
  const Feature left = fit_previous(net, name + ".previous", previous, x, left_channels);
  const Feature right = relu_conv_bn(net, name + ".conv1x1", x, channels);
  const auto block = [&](const char* side, const Feature& from, std::int64_t kernel) {
    return separable(net, name + "." + side, from, channels, kernel, 1);
  };
  const auto mean = [&](const char* side, const Feature& from) {
    return net.average_pool(name + "." + side, from, {.kernel = 3, .is_same = true});
  };
  const auto sum = [&](const char* add, const Feature& a, const Feature& b) {
    return net.add(name + "." + add, a, b);
  };
  const Feature y0 = sum("add0", block("left0", right, 5), block("right0", left, 3));
  const Feature y1 = sum("add1", block("left1", left, 5), block("right1", left, 3));
  const Feature y2 = sum("add2", mean("left2", right), left);
  const Feature y3 = sum("add3", mean("left3", left), mean("right3", left));
  const Feature y4 = sum("add4", block("left4", right, 3), right);
  return net.concat(name + ".concat", {left, y0, y1, y2, y3, y4});
}

// `left` and `right` are the cell's two inputs, fitted; what is read of them has half the size
// after.
Feature reduction_blocks(Network& net, const std::string& name, const Feature& left,
                         const Feature& right, std::int64_t channels) {
  const ConvOptions halving = {.kernel = 3, .stride = 2, .is_same = true};
  const auto block = [&](const char* side, const Feature& from, std::int64_t kernel) {
    return separable(net, name + "." + side, from, channels, kernel, 2);
  };
  const auto sum = [&](const char* add, const Feature& a, const Feature& b) {
    return net.add(name + "." + add, a, b);
  };
  const Feature y0 = sum("add0", block("left0", right, 5), block("right0", left, 7));
  const Feature largest = net.max_pool(name + ".left1", right, halving);
  const Feature y1 = sum("add1", largest, block("right1", left, 7));
  const Feature mean = net.average_pool(name + ".left2", right, halving);
  const Feature y2 = sum("add2", mean, block("right2", left, 5));
  const Feature y3 =
      sum("add3", net.average_pool(name + ".right3", y0, {.kernel = 3, .is_same = true}), y1);
  const Feature y4 = sum("add4", separable(net, name + ".left4", y0, channels, 3, 1),
                         net.max_pool(name + ".right4", right, halving));
  return net.concat(name + ".concat", {y1, y2, y3, y4});
}

Feature reduction_cell(Network& net, const std::string& name, const Feature& x,
                       const Feature& previous, std::int64_t channels) {
  const Feature left = fit_previous(net, name + ".previous", previous, x, channels);
  const Feature right = relu_conv_bn(net, name + ".conv1x1", x, channels);
  return reduction_blocks(net, name, left, right, channels);
}

}  // namespace

Graph make_nasnet_mobile(const ZooOptions& options) {
  Network net("nasnet_mobile", options.seed);
  const Feature image =
      net.image("input", {options.batch, 3, options.image_size, options.image_size});
  Feature previous = net.conv("stem.conv", image, 32, {.kernel = 3, .stride = 2});
  previous = net.batch_norm("stem.bn", previous, 1.0, kEpsilon);
  // The first stem cell has one input: itself where a 1x1 convolution gives the other.
  const Feature fitted = relu_conv_bn(net, "stem0.conv1x1", previous, kFilters / 4);
  Feature x = reduction_blocks(net, "stem0", previous, fitted, kFilters / 4);
  const auto advance = [&](Feature next) {
    previous = x;
    x = std::move(next);
  };
  advance(reduction_cell(net, "stem1", x, previous, kFilters / 2));
  std::int64_t channels = kFilters;
  int number = 0;
  for (int stage = 0; stage < 3; ++stage, channels *= 2) {
    if (stage > 0) {
      const std::string name = fmt::format("reduction{}", stage - 1);
      advance(reduction_cell(net, name, x, previous, channels));
    }
    for (int i = 0; i < 4; ++i) {
      // Straight after a reduction two paths make up the channels between them.
      advance(normal_cell(net, fmt::format("cell{}", number++), x, previous, channels, channels));
    }
  }
  x = net.global_average_pool("avgpool", net.relu("relu", x));
  return net.finish({net.dense("classifier", net.flatten("flatten", x), 1000).value});
}

}  // namespace inlay
