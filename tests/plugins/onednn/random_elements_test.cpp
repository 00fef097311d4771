#include <gtest/gtest.h>

#include "tests/plugins/agreement.h"
#include "tests/plugins/onednn/random_shape.h"

namespace inlay {
namespace {

// Shapes that broadcast to `whole`: some extents one, some at the front left out.
Shape narrowed(Draw& draw, const Shape& whole) {
  Shape shape = whole;
  for (std::int64_t& extent : shape) {
    if (draw.between(0, 2) == 0) extent = 1;
  }
  const auto cut = static_cast<std::ptrdiff_t>(draw.between(0, std::ssize(shape)));
  if (draw.coin()) shape.erase(shape.begin(), shape.begin() + cut);
  return shape;
}

TEST(OnednnRandomElements, OneOperandBroadcastsOnEitherSide) {
  Agreement agreement("onednn", 2);
  int taken = 0, cases = 0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    Draw draw(seed);
    const Shape whole = draw.shape(draw.between(1, 5), 1, 5);
    const std::string op = draw.one_of<std::string>({"Add", "Sub", "Mul", "Max", "Min"});
    const Shape narrow = narrowed(draw, whole);
    RegionCase c("binary", seed);
    std::vector<int> operands{c.input("A", whole),
                              draw.coin() ? c.input("B", narrow) : c.constant("B", narrow)};
    if (draw.coin()) std::swap(operands[0], operands[1]);
    int value = c.apply(op, operands, whole);
    if (draw.coin()) value = c.apply("Relu", {value}, whole);
    ++cases;
    const std::string found = agreement.check(c, seed + 1);
    if (found.starts_with("declined: oneDNN has only its reference code")) continue;
    EXPECT_EQ(found, "") << "seed " << seed << ", " << op;
    ++taken;
  }
  EXPECT_GE(4 * taken, 3 * cases);
}

TEST(OnednnRandomElements, DivisorsStayAwayFromZero) {
  Agreement agreement("onednn", 2);
  RegionCase c("binary");
  c.apply("Div", {c.input("A", {3, 4}), c.constant("B", {4}, std::vector<float>{1, -2, 3, 0.5f})},
          {3, 4});
  EXPECT_EQ(agreement.check(c), "");
}

TEST(OnednnRandomElements, ColumnTimesRowIsAProduct) {
  Agreement agreement("onednn", 2);
  for (const auto& [a, b] : {std::pair<Shape, Shape>{{2, 7, 1}, {2, 1, 5}},
                             {{1, 1, 5}, {3, 7, 1}},
                             {{7, 1}, {1, 5}},
                             {{7, 1}, {5}}}) {
    Shape y;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::size_t skip = a.size() - b.size();
      y.push_back(std::max(a[i], i < skip ? 1 : b[i - skip]));
    }
    RegionCase c("binary");
    c.apply("Mul", {c.input("A", a), c.input("B", b)}, y);
    EXPECT_EQ(agreement.check(c), "");
  }
}

TEST(OnednnRandomElements, FunctionsOfOneOperand) {
  Agreement agreement("onednn", 2);
  struct Case {
    std::string pattern, op;
    Attributes attributes;
  };
  const Case cases[] = {{"unary_arithmetic", "Abs", {}},
                        {"unary_arithmetic", "Neg", {}},
                        {"unary_arithmetic", "Reciprocal", {}},
                        {"unary_arithmetic", "Round", {}},
                        {"unary_arithmetic", "LeakyRelu", {{"alpha", 0.1f}}},
                        {"unary", "Sigmoid", {}},
                        {"unary", "Tanh", {}},
                        {"unary", "HardSwish", {}},
                        {"unary", "Mish", {}},
                        {"unary", "Elu", {{"alpha", 0.7f}}},
                        {"unary", "Swish", {{"alpha", 1.f}}},
                        {"unary", "Gelu", {{"approximate", std::string("none")}}},
                        {"unary", "Gelu", {{"approximate", std::string("tanh")}}}};
  for (const Case& unary : cases)
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{3, 17}, Shape{2, 3, 5, 7}}) {
      RegionCase c(unary.pattern);
      c.apply(unary.op, {c.input("X", shape)}, shape, unary.attributes);
      EXPECT_EQ(agreement.check(c), "") << unary.op;
    }
}

TEST(OnednnRandomElements, PowersByAConstant) {
  Agreement agreement("onednn", 2);
  for (const float exponent : {2.f, 1.f, 3.f, -1.f, -2.f, 0.f}) {
    RegionCase c("unary_power");
    c.apply("Pow", {c.input("X", {4, 9}), c.constant("E", Shape{}, std::vector<float>{exponent})},
            {4, 9});
    EXPECT_EQ(agreement.check(c), "") << exponent;
  }
  RegionCase varies("unary_power");
  varies.apply("Pow", {varies.input("X", {4}), varies.constant("E", {4})}, {4});
  EXPECT_EQ(agreement.check(varies), "declined: Pow: an exponent that is not one constant number");
}

TEST(OnednnRandomElements, AValueWithItself) {
  Agreement agreement("onednn", 2);
  for (const std::string op : {"Add", "Mul"}) {
    RegionCase alone("unary_itself");
    const int x = alone.input("X", {4, 9});
    alone.apply(op, {x, x}, {4, 9});
    EXPECT_EQ(agreement.check(alone), "") << op;
    RegionCase behind("binary");
    const int sum =
        behind.apply("Sub", {behind.input("A", {4, 9}), behind.input("B", {9})}, {4, 9});
    behind.apply(op, {sum, sum}, {4, 9});
    EXPECT_EQ(agreement.check(behind), "") << op;
    RegionCase product("matmul");
    const int y = product.apply(
        "MatMul", {product.input("A", {4, 3}), product.constant("B", {3, 9})}, {4, 9});
    product.apply(op, {y, y}, {4, 9});
    EXPECT_EQ(agreement.check(product), "") << op;
  }
}

TEST(OnednnRandomElements, SlopesOfPReluBroadcast) {
  Agreement agreement("onednn", 2);
  const Shape x{2, 5, 3, 4};
  for (const Shape& slope : {Shape{1}, Shape{5, 1, 1}, Shape{1, 5, 1, 1}, x}) {
    for (const std::string& layout : {dense_layout(4), channels_last(4)}) {
      RegionCase c(layout == "abcd" ? "prelu" : "prelu_image");
      c.apply("PRelu", {c.input("X", x, layout), c.constant("S", slope)}, x, {}, layout);
      EXPECT_EQ(agreement.check(c), "") << layout;
    }
  }
  RegionCase varies("prelu");
  varies.apply("PRelu", {varies.input("X", {3, 8}), varies.input("S", {8})}, {3, 8});
  EXPECT_EQ(agreement.check(varies), "");
}

TEST(OnednnRandomElements, ProductsOfAMatrixWithItself) {
  Agreement agreement("onednn", 2);
  const Attributes swapped{{"perm", std::vector<std::int64_t>{0, 2, 1}}};
  RegionCase rows("matmul_itself");
  const int a = rows.input("A", {2, 5, 9});
  rows.apply("MatMul", {a, rows.apply("Transpose", {a}, {2, 9, 5}, swapped)}, {2, 5, 5});
  EXPECT_EQ(agreement.check(rows), "");
  RegionCase columns("matmul_itself_first");
  const int b = columns.input("A", {2, 5, 9});
  columns.apply("MatMul", {columns.apply("Transpose", {b}, {2, 9, 5}, swapped), b}, {2, 9, 9});
  EXPECT_EQ(agreement.check(columns), "");
  RegionCase square("matmul_itself");
  const int c = square.input("A", {6, 6});
  square.apply("MatMul", {c, c}, {6, 6});
  EXPECT_EQ(agreement.check(square), "");
}

TEST(OnednnRandomElements, ProductsAreWrittenTransposed) {
  Agreement agreement("onednn", 2);
  using Ints = std::vector<std::int64_t>;
  const std::int64_t heads = 3, m = 7, k = 9, n = 5;
  RegionCase c("matmul_result_transposed");
  const int values = c.apply("Transpose", {c.input("B", {2, k, heads, n})}, {2, heads, k, n},
                             {{"perm", Ints{0, 2, 1, 3}}});
  const int product = c.apply("MatMul", {c.input("A", {2, heads, m, k}), values}, {2, heads, m, n});
  c.apply("Transpose", {product}, {2, m, heads, n}, {{"perm", Ints{0, 2, 1, 3}}});
  EXPECT_EQ(agreement.check(c), "");
}

TEST(OnednnRandomElements, ProductsOfStacksBroadcast) {
  Agreement agreement("onednn", 2);
  for (unsigned seed = 0; seed < 60; ++seed) {
    Draw draw(seed);
    const std::int64_t m = draw.between(1, 9), k = draw.between(1, 17), n = draw.between(1, 9);
    const Shape batch = draw.shape(draw.between(0, 3), 1, 3);
    Shape a = batch, b = narrowed(draw, batch), y = batch;
    if (draw.coin()) std::swap(a, b);
    for (Shape* shape : {&a, &b, &y}) {
      shape->push_back(shape == &b ? k : m);
      shape->push_back(shape == &a ? k : n);
    }
    RegionCase c("matmul", seed);
    const int product =
        c.apply("MatMul", {c.input("A", a), draw.coin() ? c.input("B", b) : c.constant("B", b)}, y);
    if (draw.coin()) {
      const int sum = c.apply("Add", {product, c.constant("P", {n})}, y);
      if (draw.coin()) c.apply("Add", {c.input("P", y), sum}, y);
    }
    EXPECT_EQ(agreement.check(c, seed + 1), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace inlay
