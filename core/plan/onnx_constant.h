// How a region carries its ONNX form, which engines are given: as one more constant that no node
// reads, the last of its values. So it goes where constants go, into the weights file and to the
// worker, and a plan runs without the code that writes ONNX.
//
//   add_onnx(&region, bytes);                          // while placing
//   const auto [plain, onnx] = split_onnx(region);     // for the plugin
#pragma once

#include <cstring>
#include <string_view>
#include <utility>

#include "core/plan/region.h"

namespace inlay {

// The port of that constant, u8[bytes].
inline constexpr const char* kOnnxPort = "inlay.onnx";

inline bool is_onnx(const RegionValue& value) {
  return value.is_constant && value.port == kOnnxPort;
}

inline void add_onnx(Region* region, std::string_view bytes) {
  RegionValue value;
  value.port = kOnnxPort;
  value.type = {DType::kU8, {static_cast<std::int64_t>(bytes.size())}};
  value.layout = Layout::dense(1);
  value.is_constant = true;
  value.constant = Tensor::zeros(value.type);
  std::memcpy(value.constant->mutable_bytes().data(), bytes.data(), bytes.size());
  region->values.push_back(std::move(value));
}

// The region without it, and the bytes; an empty tensor if it carries none.
inline std::pair<Region, Tensor> split_onnx(Region region) {
  Tensor bytes;
  if (region.values.empty() || !is_onnx(region.values.back())) return {std::move(region), bytes};
  if (region.values.back().constant) bytes = *region.values.back().constant;
  region.values.pop_back();
  return {std::move(region), std::move(bytes)};
}

}  // namespace inlay
