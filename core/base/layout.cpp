#include "core/base/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

namespace inlay {
namespace {

constexpr int kMaxRank = 16;  // letters a to p

// Offset in elements contributed by each logical dimension's index: a table per dimension, so that
// a conversion adds one number per dimension and element.
std::vector<std::vector<std::int64_t>> offset_tables(const Layout& layout, const Shape& shape) {
  const auto rank = static_cast<std::size_t>(layout.rank());
  std::vector<std::int64_t> block(rank, 1);
  std::int64_t stride = 1;
  std::vector<std::vector<std::int64_t>> tables(rank);
  for (std::size_t d = 0; d < rank; ++d) tables[d].assign(static_cast<std::size_t>(shape[d]), 0);

  // Inner blocks, innermost last: the last block has stride 1.
  for (auto it = layout.blocks().rbegin(); it != layout.blocks().rend(); ++it) {
    const auto dim = static_cast<std::size_t>(it->dim);
    for (std::int64_t i = 0; i < shape[dim]; ++i) {
      tables[dim][static_cast<std::size_t>(i)] += (i / block[dim]) % it->size * stride;
    }
    block[dim] *= it->size;
    stride *= it->size;
  }
  for (auto it = layout.order().rbegin(); it != layout.order().rend(); ++it) {
    const auto dim = static_cast<std::size_t>(*it);
    for (std::int64_t i = 0; i < shape[dim]; ++i) {
      tables[dim][static_cast<std::size_t>(i)] += i / block[dim] * stride;
    }
    stride *= (shape[dim] + block[dim] - 1) / block[dim];
  }
  return tables;
}

template <typename Element>
void copy_elements(const Shape& shape, const std::vector<std::vector<std::int64_t>>& from,
                   const Element* source, const std::vector<std::vector<std::int64_t>>& to,
                   Element* target) {
  const std::size_t rank = shape.size();
  if (rank == 0) {
    *target = *source;
    return;
  }
  std::array<std::int64_t, kMaxRank> index{};
  const std::size_t last = rank - 1;
  for (;;) {
    std::int64_t from_base = 0;
    std::int64_t to_base = 0;
    for (std::size_t d = 0; d < last; ++d) {
      from_base += from[d][static_cast<std::size_t>(index[d])];
      to_base += to[d][static_cast<std::size_t>(index[d])];
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(shape[last]); ++i) {
      target[to_base + to[last][i]] = source[from_base + from[last][i]];
    }
    std::size_t d = last;
    while (d > 0 && ++index[d - 1] == shape[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace

Layout Layout::dense(int rank) {
  Layout layout;
  for (int d = 0; d < rank; ++d) layout.order_.push_back(d);
  return layout;
}

bool Layout::is_dense() const {
  return blocks_.empty() && std::is_sorted(order_.begin(), order_.end());
}

std::string Layout::text() const {
  if (order_.empty()) return "scalar";
  std::string text;
  for (const int dim : order_) {
    const bool blocked = std::any_of(blocks_.begin(), blocks_.end(),
                                     [dim](const LayoutBlock& block) { return block.dim == dim; });
    text += static_cast<char>((blocked ? 'A' : 'a') + dim);
  }
  for (const LayoutBlock& block : blocks_) {
    text += fmt::format("{}{}", block.size, static_cast<char>('a' + block.dim));
  }
  return text;
}

std::size_t Layout::size_bytes(const TensorType& type) const {
  if (type.shape.size() != order_.size()) {
    throw Error(Code::kShapeMismatch, fmt::format("layout {} has rank {}, tensor is {}", text(),
                                                  order_.size(), to_string(type)));
  }
  Shape padded = type.shape;
  std::vector<std::int64_t> block(order_.size(), 1);
  for (const LayoutBlock& b : blocks_) block[static_cast<std::size_t>(b.dim)] *= b.size;
  for (std::size_t d = 0; d < padded.size(); ++d) {
    padded[d] = (padded[d] + block[d] - 1) / block[d] * block[d];
  }
  return dense_bytes({type.dtype, padded});
}

std::int64_t Layout::offset(const Shape& shape, const std::vector<std::int64_t>& index) const {
  const auto tables = offset_tables(*this, shape);
  std::int64_t total = 0;
  for (std::size_t d = 0; d < index.size(); ++d) {
    total += tables[d][static_cast<std::size_t>(index[d])];
  }
  return total;
}

std::optional<Layout> parse_layout(std::string_view text) {
  if (text == "scalar") return Layout();
  Layout layout;
  std::vector<bool> wants_block;
  std::size_t i = 0;
  for (; i < text.size() && std::isalpha(static_cast<unsigned char>(text[i])); ++i) {
    const bool blocked = std::isupper(static_cast<unsigned char>(text[i])) != 0;
    const int dim = std::tolower(static_cast<unsigned char>(text[i])) - 'a';
    if (dim >= kMaxRank) return std::nullopt;
    if (std::find(layout.order_.begin(), layout.order_.end(), dim) != layout.order_.end()) {
      return std::nullopt;
    }
    layout.order_.push_back(dim);
    wants_block.resize(std::max(wants_block.size(), static_cast<std::size_t>(dim) + 1), false);
    wants_block[static_cast<std::size_t>(dim)] = blocked;
  }
  if (layout.order_.empty() || wants_block.size() != layout.order_.size()) return std::nullopt;
  while (i < text.size()) {
    constexpr std::size_t kMaxDigits = 4;  // a block is a vector register or a cache tile
    std::int64_t size = 0;
    std::size_t digits = 0;
    for (; i < text.size() && digits <= kMaxDigits &&
           std::isdigit(static_cast<unsigned char>(text[i]));
         ++i, ++digits) {
      size = size * 10 + (text[i] - '0');
    }
    if (digits == 0 || digits > kMaxDigits || size < 2 || i == text.size()) return std::nullopt;
    const int dim = text[i++] - 'a';
    if (dim < 0 || static_cast<std::size_t>(dim) >= wants_block.size() ||
        !wants_block[static_cast<std::size_t>(dim)]) {
      return std::nullopt;
    }
    layout.blocks_.push_back({dim, size});
  }
  for (std::size_t d = 0; d < wants_block.size(); ++d) {
    const bool has_block =
        std::any_of(layout.blocks_.begin(), layout.blocks_.end(),
                    [d](const LayoutBlock& b) { return b.dim == static_cast<int>(d); });
    if (wants_block[d] != has_block) return std::nullopt;
  }
  return layout;
}

LayoutConversion::LayoutConversion(const TensorType& type, const Layout& from, const Layout& to)
    : shape_(type.shape),
      element_bytes_(size_of(type.dtype)),
      target_bytes_(to.size_bytes(type)),
      is_copy_(from == to),
      has_padding_(!to.blocks().empty()) {
  from.size_bytes(type);  // checks the rank
  if (shape_.size() > kMaxRank) {
    throw Error(Code::kUnsupported, fmt::format("no layout conversion for {}: rank above {}",
                                                to_string(type), kMaxRank));
  }
  if (is_copy_ || element_count(shape_) == 0) return;
  from_tables_ = offset_tables(from, shape_);
  to_tables_ = offset_tables(to, shape_);
}

void LayoutConversion::run(const std::byte* source, std::byte* target) const {
  if (target_bytes_ == 0) return;
  if (is_copy_) {
    std::memcpy(target, source, target_bytes_);
    return;
  }
  if (has_padding_) std::memset(target, 0, target_bytes_);
  if (!shape_.empty() && from_tables_.empty()) return;  // no elements, padding only
  const auto copy = [&]<typename Element>(Element) {
    copy_elements(shape_, from_tables_, reinterpret_cast<const Element*>(source), to_tables_,
                  reinterpret_cast<Element*>(target));
  };
  switch (element_bytes_) {
    case 1:
      return copy(std::uint8_t{});
    case 2:
      return copy(std::uint16_t{});
    case 4:
      return copy(std::uint32_t{});
    default:
      return copy(std::uint64_t{});
  }
}

void convert_layout(const TensorType& type, const Layout& from, const std::byte* source,
                    const Layout& to, std::byte* target) {
  LayoutConversion(type, from, to).run(source, target);
}

}  // namespace inlay
