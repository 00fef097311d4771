#include <gtest/gtest.h>

#include "tests/plugins/agreement.h"
#include "tests/plugins/onednn/random_shape.h"

namespace inlay {
namespace {

using Ints = std::vector<std::int64_t>;

// A convolution of odd proportions: one channel, three, strides beyond the kernel, lopsided pads.
struct RandomConv {
  std::string op;
  std::size_t spatial;
  std::int64_t batch, channels, filters, group;
  Ints extents, kernel, strides, dilations, pads, output_padding;

  Shape input() const { return with({batch, channels}, extents); }
  Shape weights() const {
    return op == "Conv" ? with({filters, channels / group}, kernel)
                        : with({channels, filters / group}, kernel);
  }
  Shape output() const {
    Shape shape{batch, filters};
    for (std::size_t i = 0; i < spatial; ++i) {
      const std::int64_t reach = (kernel[i] - 1) * dilations[i] + 1;
      const std::int64_t padding = pads[i] + pads[i + spatial];
      shape.push_back(op == "Conv"
                          ? (extents[i] + padding - reach) / strides[i] + 1
                          : (extents[i] - 1) * strides[i] + reach - padding + output_padding[i]);
    }
    return shape;
  }
  Attributes attributes() const {
    Attributes all{{"kernel_shape", kernel},
                   {"strides", strides},
                   {"dilations", dilations},
                   {"pads", pads},
                   {"group", group}};
    if (op == "ConvTranspose") all["output_padding"] = output_padding;
    return all;
  }
  bool is_sound() const {
    const Shape y = output();
    return std::all_of(y.begin(), y.end(), [](std::int64_t extent) { return extent > 0; });
  }

 private:
  static Shape with(Shape front, const Ints& back) {
    front.insert(front.end(), back.begin(), back.end());
    return front;
  }
};

RandomConv draw_conv(Draw& draw, const std::string& op, std::size_t spatial) {
  RandomConv r{.op = op, .spatial = spatial};
  const auto rank = static_cast<std::int64_t>(spatial);
  r.batch = draw.between(1, 2);
  r.group = draw.one_of<std::int64_t>({1, 1, 1, 2, 16});
  r.channels = r.group * draw.one_of<std::int64_t>({1, 3, 16});
  r.filters = r.group * draw.one_of<std::int64_t>({1, 2, 17});
  if (r.group == 16 && draw.coin()) r.channels = r.filters = 16;  // depthwise
  r.extents = draw.shape(rank, 4, spatial == 3 ? 6 : 11);
  r.kernel = draw.shape(rank, 1, 3);
  r.strides = draw.shape(rank, 1, 3);
  r.dilations = draw.shape(rank, 1, 2);
  for (std::size_t i = 0; i < 2 * spatial; ++i) {
    // Padding of a whole kernel or more is another rarity, and oneDNN's own limit.
    r.pads.push_back(draw.between(0, r.kernel[i % spatial] - 1));
  }
  for (std::size_t i = 0; i < spatial; ++i) {
    r.output_padding.push_back(draw.between(0, std::max(r.strides[i], r.dilations[i]) - 1));
  }
  return r;
}

std::string layout_of(int choice, std::size_t rank) {
  if (choice == 0) return dense_layout(rank);
  return choice == 1 ? channels_last(rank) : channel_blocks(rank, has_cpu_feature("avx512f"));
}

// Runs a random convolution in each layout; the number that oneDNN took.
int check_layouts(Agreement& agreement, const RandomConv& r, unsigned seed) {
  const std::string pattern = r.spatial == 2 ? "conv" : "conv_" + std::to_string(r.spatial) + "d";
  int taken = 0;
  for (int choice = 0; choice < 3; ++choice) {
    const std::string layout = layout_of(choice, r.spatial + 2);
    RegionCase c(pattern, seed);
    std::vector<int> operands{c.input("X", r.input(), layout), c.constant("W", r.weights())};
    if (seed % 3 != 0) operands.push_back(c.constant("B", {r.filters}));
    c.apply(r.op, operands, r.output(), r.attributes(), layout);
    const std::string found = agreement.check(c, seed + 1);
    if (found.starts_with("declined: ")) continue;
    EXPECT_EQ(found, "") << "seed " << seed << ", " << layout;
    ++taken;
  }
  return taken;
}

TEST(OnednnRandomConv, AgreesInOneTwoAndThreeDimensions) {
  Agreement agreement("onednn", 2);
  for (const std::string op : {"Conv", "ConvTranspose"})
    for (std::size_t spatial = 1; spatial <= 3; ++spatial) {
      SCOPED_TRACE(op + " " + std::to_string(spatial) + "-D");
      int cases = 0, taken = 0;
      for (unsigned seed = 0; cases < 12; ++seed) {
        Draw draw(seed);
        const RandomConv r = draw_conv(draw, op, spatial);
        if (!r.is_sound()) continue;
        ++cases;
        taken += check_layouts(agreement, r, seed);
      }
      // Where all kernels are plain loops, or a layout does not fit, oneDNN declines.
      EXPECT_GE(taken, 2 * cases - 2);
    }
}

TEST(OnednnRandomConv, ChainsFollowInsideThePrimitive) {
  Agreement agreement("onednn", 2);
  const Shape x{2, 16, 6, 5}, y{2, 32, 6, 5};
  int taken = 0, cases = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    Draw draw(seed);
    const std::string layout = layout_of(static_cast<int>(seed % 3), 4);
    RegionCase c("conv", seed);
    int value = c.apply(
        "Conv", {c.input("X", x, layout), c.constant("W", {32, 16, 3, 3}), c.constant("B", {32})},
        y,
        {{"kernel_shape", Ints{3, 3}},
         {"strides", Ints{1, 1}},
         {"dilations", Ints{1, 1}},
         {"pads", Ints{1, 1, 1, 1}},
         {"group", std::int64_t{1}}});
    std::string chain;
    for (std::int64_t links = draw.between(1, 6); links > 0; --links) {
      const std::string out = links == 1 ? layout : "";
      switch (draw.between(0, 6)) {
        case 0: {
          const std::string op = draw.one_of<std::string>({"Relu", "HardSwish", "Tanh", "Gelu"});
          const Attributes attributes =
              op == "Gelu" ? Attributes{{"approximate", std::string("none")}} : Attributes{};
          value = c.apply(op, {value}, y, attributes, out);
          chain += op + " ";
          break;
        }
        case 1:
          value = c.apply("Clip", {value}, y, {{"min", 0.f}, {"max", 6.f}}, out);
          chain += "Clip ";
          break;
        case 2: {
          const int gate = c.apply("Sigmoid", {value}, y);
          value = c.apply("Mul", {value, gate}, y, {}, out);
          chain += "Swish ";
          break;
        }
        case 3:
          value = c.apply("Mul", {value, c.constant("P", {1, 32, 1, 1})}, y, {}, out);
          chain += "scale ";
          break;
        case 4:
          value =
              c.apply(draw.coin() ? "Add" : "Sub", {value, c.constant("P", Shape{})}, y, {}, out);
          chain += "number ";
          break;
        case 5:
          value = c.apply("Sub", {c.constant("P", {1}), value}, y, {}, out);
          chain += "turned ";
          break;
        default:
          value = c.apply("Add", {value, c.input("P", y, layout)}, y, {}, out);
          chain += "residual ";
      }
    }
    ++cases;
    const std::string found = agreement.check(c, seed + 1);
    if (found.starts_with("declined: oneDNN has ")) continue;
    EXPECT_EQ(found, "") << "seed " << seed << ", " << layout << ": " << chain;
    ++taken;
  }
  EXPECT_GE(3 * taken, 2 * cases);
}

TEST(OnednnRandomConv, SlopesOfPReluFollowInsideThePrimitive) {
  Agreement agreement("onednn", 2);
  const Shape x{1, 8, 5, 5}, y{1, 20, 5, 5};
  for (const Shape& slope : {Shape{20, 1, 1}, Shape{1}})
    for (int choice = 0; choice < 3; ++choice) {
      RegionCase c("conv");
      const std::string layout = layout_of(choice, 4);
      const int conv = c.apply("Conv", {c.input("X", x, layout), c.constant("W", {20, 8, 1, 1})}, y,
                               {{"kernel_shape", Ints{1, 1}},
                                {"strides", Ints{1, 1}},
                                {"dilations", Ints{1, 1}},
                                {"pads", Ints{0, 0, 0, 0}},
                                {"group", std::int64_t{1}}});
      c.apply("PRelu", {conv, c.constant("P", slope)}, y, {}, layout);
      EXPECT_EQ(agreement.check(c), "") << layout;
    }
}

TEST(OnednnRandomConv, DeclinesATensorWithoutElements) {
  Agreement agreement("onednn", 1);
  RegionCase c("conv");
  c.apply("Conv", {c.input("X", {0, 3, 4, 4}), c.constant("W", {2, 3, 1, 1})}, {0, 2, 4, 4},
          {{"kernel_shape", Ints{1, 1}},
           {"strides", Ints{1, 1}},
           {"dilations", Ints{1, 1}},
           {"pads", Ints{0, 0, 0, 0}},
           {"group", std::int64_t{1}}});
  EXPECT_EQ(agreement.check(c), "declined: a tensor without elements");
}

}  // namespace
}  // namespace inlay
