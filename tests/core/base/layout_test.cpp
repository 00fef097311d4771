#include "core/base/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/base/error.h"
#include "core/base/rng.h"

namespace inlay {
namespace {

// A layout drawn at random: any order, up to three blocks of small sizes, some on the same
// dimension.
Layout random_layout(Rng& rng, int rank) {
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  std::vector<int> blocks;
  const std::uint64_t block_count = rng.below(4);
  for (std::uint64_t i = 0; i < block_count; ++i) {
    blocks.push_back(static_cast<int>(rng.below(static_cast<std::uint64_t>(rank))));
  }
  std::string text;
  for (const int dim : order) {
    const bool is_blocked = std::find(blocks.begin(), blocks.end(), dim) != blocks.end();
    text += static_cast<char>((is_blocked ? 'A' : 'a') + dim);
  }
  for (const int dim : blocks) {
    text += std::to_string(2 + rng.below(7)) + static_cast<char>('a' + dim);
  }
  const std::optional<Layout> layout = parse_layout(text);
  EXPECT_TRUE(layout) << text;
  return layout.value_or(Layout::dense(rank));
}

Shape random_shape(Rng& rng, int rank) {
  Shape shape;
  for (int i = 0; i < rank; ++i) shape.push_back(static_cast<std::int64_t>(rng.below(8)));
  return shape;
}

std::vector<std::byte> random_bytes(Rng& rng, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::byte& b : bytes) b = static_cast<std::byte>(1 + rng.below(255));  // never 0
  return bytes;
}

TEST(Layout, TextIsReadBackAsTheSameLayout) {
  Rng rng(1);
  for (int i = 0; i < 500; ++i) {
    const Layout layout = random_layout(rng, 1 + static_cast<int>(rng.below(6)));
    const std::optional<Layout> again = parse_layout(layout.text());
    ASSERT_TRUE(again) << layout.text();
    EXPECT_EQ(*again, layout);
    EXPECT_EQ(again->text(), layout.text());
  }
  EXPECT_EQ(parse_layout("scalar"), Layout::dense(0));
  EXPECT_EQ(Layout::dense(0).text(), "scalar");
}

TEST(Layout, ConversionThereAndBackKeepsEveryElementAndZeroesThePadding) {
  Rng rng(2);
  for (int i = 0; i < 400; ++i) {
    const int rank = 1 + static_cast<int>(rng.below(4));
    constexpr DType kTypes[] = {DType::kU8, DType::kF16, DType::kF32, DType::kF64};
    const TensorType type{kTypes[rng.below(4)], random_shape(rng, rank)};
    const Layout dense = Layout::dense(rank);
    const Layout first = random_layout(rng, rank);
    const Layout second = random_layout(rng, rank);
    const std::vector<std::byte> source = random_bytes(rng, dense_bytes(type));
    std::vector<std::byte> a(first.size_bytes(type), std::byte{0xEE});
    std::vector<std::byte> b(second.size_bytes(type), std::byte{0xEE});
    std::vector<std::byte> back(source.size(), std::byte{0xEE});
    convert_layout(type, dense, source.data(), first, a.data());
    convert_layout(type, first, a.data(), second, b.data());
    convert_layout(type, second, b.data(), dense, back.data());
    const std::string what = to_string(type) + " " + first.text() + " " + second.text();
    EXPECT_EQ(back, source) << what;
    // The source has no zero byte, so as many are zero as the padding has.
    for (const auto* bytes : {&a, &b}) {
      const auto zeros = std::count(bytes->begin(), bytes->end(), std::byte{0});
      EXPECT_EQ(static_cast<std::size_t>(zeros), bytes->size() - source.size()) << what;
    }
  }
}

TEST(Layout, OffsetSaysWhereConversionPutsAnElement) {
  Rng rng(3);
  const TensorType type{DType::kU8, {3, 5, 4}};
  std::vector<std::byte> source(60);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i + 1);
  for (int i = 0; i < 50; ++i) {
    const Layout layout = random_layout(rng, 3);
    std::vector<std::byte> bytes(layout.size_bytes(type));
    convert_layout(type, Layout::dense(3), source.data(), layout, bytes.data());
    for (std::int64_t a = 0; a < 3; ++a) {
      for (std::int64_t b = 0; b < 5; ++b) {
        for (std::int64_t c = 0; c < 4; ++c) {
          const auto offset = static_cast<std::size_t>(layout.offset(type.shape, {a, b, c}));
          EXPECT_EQ(bytes[offset], source[static_cast<std::size_t>((a * 5 + b) * 4 + c)])
              << layout.text();
        }
      }
    }
  }
}

TEST(Layout, KnownLayoutsPutElementsWhereTheirNamesSay) {
  const Shape shape{2, 20, 3, 5};  // NCHW
  EXPECT_EQ(Layout::dense(4).offset(shape, {1, 2, 1, 3}), ((1 * 20 + 2) * 3 + 1) * 5 + 3);
  EXPECT_EQ(parse_layout("acdb")->offset(shape, {1, 2, 1, 3}), ((1 * 3 + 1) * 5 + 3) * 20 + 2);
  // 20 channels are two blocks of 16; channel 18 is the third of the second block.
  const Layout blocked = *parse_layout("aBcd16b");
  EXPECT_EQ(blocked.offset(shape, {1, 18, 1, 3}), (((1 * 2 + 1) * 3 + 1) * 5 + 3) * 16 + 2);
  EXPECT_EQ(blocked.size_bytes({DType::kF32, shape}), 2u * 32 * 3 * 5 * 4);
}

TEST(Layout, RefusesTextsThatAreNoLayout) {
  for (const char* text : {"", "aa", "ac", "b", "aB", "ab16b", "aB1b", "aB0b", "aB16", "aB16c",
                           "aB16bx", "16b", "a b", "aB-4b", "aB99999999999999999999b", "{}"}) {
    EXPECT_FALSE(parse_layout(text)) << text;
  }
}

TEST(Layout, NamesBothSidesWhenTheRanksDiffer) {
  try {
    Layout::dense(3).size_bytes({DType::kF32, {2, 2}});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kShapeMismatch);
    EXPECT_NE(std::string(error.what()).find("f32[2x2]"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace inlay
