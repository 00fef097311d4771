// Draws for random regions: extents, attributes and choices, from one seed.
//
//   Draw draw(7);
//   const Shape shape = draw.shape(3, 1, 6);       // three extents from 1 to 6
//   const std::string mode = draw.one_of<std::string>({"edge", "reflect"});
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.h"
#include "core/base/tensor.h"

namespace inlay {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : rng_(seed) {}

  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(high - low + 1)));
  }
  bool coin() { return between(0, 1) == 1; }

  template <typename T>
  T one_of(const std::vector<T>& choices) {
    return choices[static_cast<std::size_t>(between(0, std::ssize(choices) - 1))];
  }

  Shape shape(std::int64_t rank, std::int64_t low, std::int64_t high) {
    Shape shape;
    for (std::int64_t i = 0; i < rank; ++i) shape.push_back(between(low, high));
    return shape;
  }

  std::vector<std::int64_t> permutation(std::int64_t rank) {
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < rank; ++i) {
      order.push_back(i);
      std::swap(order.back(), order[static_cast<std::size_t>(between(0, i))]);
    }
    return order;
  }

 private:
  Rng rng_;
};

// "ab", "abc", …
inline std::string dense_layout(std::size_t rank) {
  return std::string("abcdefgh").substr(0, rank);
}

// Channels last, and in blocks as wide as this machine's registers: "acdb", "aBcd16b".
inline std::string channels_last(std::size_t rank) {
  return "a" + dense_layout(rank).substr(2) + "b";
}
inline std::string channel_blocks(std::size_t rank, bool has_avx512) {
  return "aB" + dense_layout(rank).substr(2) + (has_avx512 ? "16b" : "8b");
}

}  // namespace inlay
