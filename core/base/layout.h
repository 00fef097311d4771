// How a tensor's elements lie in memory: a dimension order and inner blocks, written as oneDNN
// writes them. Letters name logical dimensions, outermost first; a capital letter is a blocked
// dimension, whose block size stands at the end.
//
//   Layout::dense(4)            "abcd"     NCHW, row-major
//   parse_layout("acdb")                    NHWC
//   parse_layout("aBcd16b")                 nChw16c: channels in blocks of 16, innermost
//
// A blocked dimension is padded to whole blocks; padding holds zeros. The notation is oneDNN's
// format tag: https://oneapi-src.github.io/oneDNN, "Memory format propagation".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/tensor.h"

namespace inlay {

struct LayoutBlock {
  int dim;
  std::int64_t size;
  bool operator==(const LayoutBlock&) const = default;
};

class Layout {
 public:
  Layout() = default;  // the layout of a scalar, dense of rank 0
  static Layout dense(int rank);

  int rank() const { return static_cast<int>(order_.size()); }
  const std::vector<int>& order() const { return order_; }  // outer order, outermost first
  const std::vector<LayoutBlock>& blocks() const { return blocks_; }
  bool is_dense() const;
  std::string text() const;  // "abcd", "aBcd16b"; "scalar" at rank 0

  // Bytes of a tensor of `type` in this layout, padding included.
  // throws  Error{kShapeMismatch} if the ranks differ
  std::size_t size_bytes(const TensorType& type) const;

  // Offset in elements of the element at `index` (one entry per logical dimension).
  std::int64_t offset(const Shape& shape, const std::vector<std::int64_t>& index) const;

  bool operator==(const Layout&) const = default;

  friend std::optional<Layout> parse_layout(std::string_view text);

 private:
  std::vector<int> order_;
  std::vector<LayoutBlock> blocks_;
};

// Reads the notation above ("dense" is not a layout: it needs a rank). nullopt if the text is not
// one: a letter missing or repeated, a block without its capital, a block size below 2.
std::optional<Layout> parse_layout(std::string_view text);

// A conversion made ready once, so that running it allocates nothing.
//
//   const LayoutConversion conversion(type, Layout::dense(4), *parse_layout("aBcd16b"));
//   conversion.run(source, target);
class LayoutConversion {
 public:
  // throws  Error{kShapeMismatch} if a layout's rank is not the type's; Error{kUnsupported} for
  //         elements without a fixed size and for a rank above 16
  LayoutConversion(const TensorType& type, const Layout& from, const Layout& to);

  // Copies `source` to `target`, which do not overlap; the target's padding is zeroed. [any-thread]
  void run(const std::byte* source, std::byte* target) const;

 private:
  Shape shape_;
  std::size_t element_bytes_;
  std::size_t target_bytes_;
  bool is_copy_;
  bool has_padding_;
  // Offset in elements contributed by each dimension's index.
  std::vector<std::vector<std::int64_t>> from_tables_;
  std::vector<std::vector<std::int64_t>> to_tables_;
};

// Copies `source` in layout `from` to `target` in layout `to`, both of the logical type `type`;
// padding of the target is zeroed. Plain and single-threaded: the fallback when no plugin offers
// the conversion.
void convert_layout(const TensorType& type, const Layout& from, const std::byte* source,
                    const Layout& to, std::byte* target);

}  // namespace inlay
