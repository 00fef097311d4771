#include "plugins/onednn/layout.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace inlay::onednn {

using dnnl::memory;

namespace {

bool has_blocks(std::string_view layout) {
  return std::any_of(layout.begin(), layout.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

Desc describe_blocked(const Dims& dims, std::string_view layout, DataType type) {
  using Tag = memory::format_tag;
  static constexpr std::array<std::pair<std::string_view, Tag>, 9> kTags{{
      {"aBc4b", Tag::aBc4b},
      {"aBc8b", Tag::aBc8b},
      {"aBc16b", Tag::aBc16b},
      {"aBcd4b", Tag::aBcd4b},
      {"aBcd8b", Tag::aBcd8b},
      {"aBcd16b", Tag::aBcd16b},
      {"aBcde4b", Tag::aBcde4b},
      {"aBcde8b", Tag::aBcde8b},
      {"aBcde16b", Tag::aBcde16b},
  }};
  for (const auto& [text, tag] : kTags) {
    if (text == layout) return Desc(dims, type, tag);
  }
  throw sdk::Decline("layout '" + std::string(layout) + "' is not among those offered");
}

}  // namespace

Dims row_major_strides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

Desc describe_dense(const Dims& dims, DataType type) {
  const Dims shape = dims.empty() ? Dims{1} : dims;
  return Desc(shape, type, row_major_strides(shape));
}

DataType data_type_of(inlay_dtype dtype) {
  switch (dtype) {
    case INLAY_F32:
      return DataType::f32;
    case INLAY_I32:
      return DataType::s32;
    case INLAY_I8:
      return DataType::s8;
    case INLAY_U8:
    case INLAY_BOOL:
      return DataType::u8;
    default:
      throw sdk::Decline("oneDNN has no such element type");
  }
}

Desc describe(const Dims& dims, std::string_view layout, DataType type) {
  if (dims.empty()) return describe_dense(dims, type);
  if (has_blocks(layout)) return describe_blocked(dims, layout, type);
  if (layout.size() != dims.size()) {
    throw sdk::Decline("layout '" + std::string(layout) + "' on a tensor of rank " +
                       std::to_string(dims.size()));
  }
  Dims strides(dims.size(), 1);
  std::int64_t stride = 1;
  for (std::size_t i = layout.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(layout[i] - 'a');
    strides[axis] = stride;
    stride *= dims[axis];
  }
  return Desc(dims, type, strides);
}

Desc describe(const sdk::ValueView& value) {
  return describe(dims_of(value), value.layout(), data_type_of(value.dtype()));
}

Dims dims_of(const sdk::ValueView& value) { return Dims(value.dims().begin(), value.dims().end()); }

bool is_dense(std::string_view layout) {
  if (layout == "scalar") return true;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    if (layout[i] != static_cast<char>('a' + i)) return false;
  }
  return true;
}

Dims align_rank(const Dims& dims, std::size_t rank) {
  Dims aligned(rank > dims.size() ? rank - dims.size() : 0, 1);
  aligned.insert(aligned.end(), dims.begin(), dims.end());
  return aligned;
}

}  // namespace inlay::onednn
