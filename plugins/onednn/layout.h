// oneDNN's memory descriptors for Inlay's values. Both write layouts the same way, so the region's
// layouts are kept to the byte.
//
//   const dnnl::memory::desc source = describe(region.port("X"));
#pragma once

#include <span>
#include <string_view>

#include "core/sdk/region.h"
#include "dnnl.hpp"

namespace inlay::onednn {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;

using DataType = dnnl::memory::data_type;

// Elements of these extents in a layout such as "abcd", "acdb" or "aBcd16b". A scalar becomes a
// vector of one. throws  Decline for a layout that oneDNN has no name for
Desc describe(const Dims& dims, std::string_view layout, DataType type = DataType::f32);
Desc describe(const sdk::ValueView& value);

// Row-major.
Desc describe_dense(const Dims& dims, DataType type = DataType::f32);

// Bools are bytes. throws  Decline for a type that oneDNN does not have
DataType data_type_of(inlay_dtype dtype);

Dims dims_of(const sdk::ValueView& value);

bool is_dense(std::string_view layout);

// `dims` with ones in front up to `rank`, as broadcasting reads them.
Dims align_rank(const Dims& dims, std::size_t rank);

Dims row_major_strides(const Dims& dims);

}  // namespace inlay::onednn
