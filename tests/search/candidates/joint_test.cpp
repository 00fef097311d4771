#include "search/candidates/joint.h"

#include <gtest/gtest.h>

#include "core/base/rng.h"

namespace inlay {
namespace {

const Layout kDense = Layout::dense(4);
const Layout kBlocked = *parse_layout("aBcd16b");
const Layout kLast = *parse_layout("acdb");

// The definition: the part's elements lie in the whole as in a tensor of their own, shifted.
bool is_one_piece(const Layout& layout, const Shape& whole, int axis, std::int64_t begin,
                  std::int64_t count) {
  const auto along = static_cast<std::size_t>(axis);
  Shape part = whole;
  part[along] = count;
  std::vector<std::int64_t> first(4, 0);
  first[along] = begin;
  const std::int64_t shift = layout.offset(whole, first);
  std::vector<std::int64_t> index(4, 0);
  for (index[0] = 0; index[0] < part[0]; ++index[0]) {
    for (index[1] = 0; index[1] < part[1]; ++index[1]) {
      for (index[2] = 0; index[2] < part[2]; ++index[2]) {
        for (index[3] = 0; index[3] < part[3]; ++index[3]) {
          std::vector<std::int64_t> outer = index;
          outer[along] += begin;
          if (layout.offset(whole, outer) != shift + layout.offset(part, index)) return false;
        }
      }
    }
  }
  return true;
}

TEST(IsContiguousPart, NeverClaimsAPieceThatIsNone) {
  Rng rng(5);
  int claimed = 0;
  for (int i = 0; i < 3000; ++i) {
    Shape whole;
    for (int d = 0; d < 4; ++d) whole.push_back(rng.below(2) == 0 ? 1 : 1 + rng.below(4));
    const int axis = static_cast<int>(rng.below(4));
    const auto extent = static_cast<std::uint64_t>(whole[static_cast<std::size_t>(axis)]);
    const auto begin = static_cast<std::int64_t>(rng.below(extent));
    const std::int64_t count = 1 + rng.below(extent - static_cast<std::uint64_t>(begin));
    const Layout layout = *parse_layout(
        std::vector<std::string>{"abcd", "acdb", "aBcd2b", "bacd", "ABcd2a2b"}[rng.below(5)]);
    if (!is_contiguous_part(layout, whole, axis, begin, count)) continue;
    ++claimed;
    ASSERT_TRUE(is_one_piece(layout, whole, axis, begin, count))
        << layout.text() << " " << to_string(whole) << " axis " << axis << " " << begin << "+"
        << count;
  }
  EXPECT_GT(claimed, 500);
}

TEST(IsContiguousPart, HoldsForChannelsOfOneImageAndWholeBlocks) {
  EXPECT_TRUE(is_contiguous_part(kDense, {1, 48, 7, 7}, 1, 5, 9));
  EXPECT_FALSE(is_contiguous_part(kDense, {2, 48, 7, 7}, 1, 5, 9));
  EXPECT_TRUE(is_contiguous_part(kBlocked, {1, 48, 7, 7}, 1, 16, 32));
  EXPECT_FALSE(is_contiguous_part(kBlocked, {1, 48, 7, 7}, 1, 8, 16));
  EXPECT_FALSE(is_contiguous_part(kLast, {1, 48, 7, 7}, 1, 0, 16));
  EXPECT_TRUE(is_contiguous_part(kLast, {3, 48, 7, 7}, 0, 1, 1));
}

// x → a, b → Concat over channels → Relu, with what `change` does to the operands.
struct Net {
  GraphBuilder builder{"net"};
  ValueId x, a, b;
  NodeId concat;

  Net() {
    x = builder.input("x", {DType::kF32, {1, 16, 4, 4}});
    a = builder.node("a", "Relu", {x});
    b = builder.node("b", "Tanh", {x});
  }

  Graph finish(const std::vector<ValueId>& operands) {
    builder.output(builder.node(
        "r", "Relu", {builder.node("c", "Concat", operands, {{"axis", std::int64_t{1}}})}));
    return builder.build();
  }
};

std::vector<Layout> layouts_of(const Graph& graph) {
  return joint_layouts(graph, *graph.find_node("c"), {kDense, kBlocked, kLast});
}

TEST(JointLayouts, AreThoseInWhichEachOperandIsOnePiece) {
  Net net;
  EXPECT_EQ(layouts_of(net.finish({net.a, net.b})), (std::vector{kDense, kBlocked}));
}

TEST(JointLayouts, AreNoneForOperandsThatNoStepWritesThere) {
  {
    Net net;
    EXPECT_TRUE(layouts_of(net.finish({net.a, net.x})).empty());
  }
  {
    Net net;
    EXPECT_TRUE(layouts_of(net.finish({net.a, net.a})).empty());
  }
  {
    Net net;
    net.builder.output(net.a);
    EXPECT_TRUE(layouts_of(net.finish({net.a, net.b})).empty());
  }
  {
    Net net;
    const ValueId view = net.builder.reshape("v", net.b, {1, 16, 4, 4});
    EXPECT_TRUE(layouts_of(net.finish({net.a, view})).empty());
  }
  {
    Net net;
    const ValueId w = net.builder.constant("w", Tensor::zeros({DType::kF32, {1, 16, 4, 4}}));
    EXPECT_TRUE(layouts_of(net.finish({net.a, w})).empty());
  }
}

TEST(JointLayouts, GoToTheFirstOfTwoConcats) {
  Net net;
  const ValueId first =
      net.builder.node("first", "Concat", {net.b, net.a}, {{"axis", std::int64_t{1}}});
  net.builder.output(net.builder.node("t", "Tanh", {first}));
  const Graph graph = net.finish({net.a, net.b});
  EXPECT_TRUE(layouts_of(graph).empty());
  EXPECT_FALSE(joint_layouts(graph, *graph.find_node("first"), {kDense}).empty());
}

TEST(JointLayouts, NeedPiecesOfWholeCacheLines) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", {DType::kF32, {1, 3}});
  const ValueId r = b.node("a", "Relu", {x});
  const ValueId t = b.node("b", "Tanh", {x});
  b.output(b.node("n", "Neg", {b.node("c", "Concat", {r, t}, {{"axis", std::int64_t{1}}})}));
  EXPECT_TRUE(joint_layouts(b.build(), {2}, {Layout::dense(2)}).empty());
}

}  // namespace
}  // namespace inlay
