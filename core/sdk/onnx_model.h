// The whole ONNX model of an engine's region: what the host sends leaves the constants' bytes out,
// since the region has them.
//
//   const std::string model = complete_model(region, context.onnx);   // to the engine's reader
//   engine.input(onnx_name(region.inputs()[0]));                       // "v0"
//
// In the model value i of the region is named "v<i>". Adding to a protobuf message is appending to
// its bytes (protobuf's encoding guide, "Last One Wins": embedded messages merge, repeated fields
// add up), so this needs no protobuf library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/sdk/region.h"

namespace inlay::sdk {

inline std::string onnx_name(int value) { return "v" + std::to_string(value); }

// Writes protobuf's wire format.
class WireWriter {
 public:
  explicit WireWriter(std::string* out) : out_(out) {}

  void number(int field, std::uint64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(value);
  }
  void bytes(int field, std::string_view text) {
    length(field, text.size());
    out_->append(text);
  }
  // The beginning of a field of so many bytes, which follow.
  void length(int field, std::uint64_t size_bytes) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(size_bytes);
  }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_->push_back(static_cast<char>(value | 0x80));
    out_->push_back(static_cast<char>(value));
  }

  std::string* out_;
};

// Declines a region whose model would exceed protobuf's 2 GiB.
inline std::string complete_model(const RegionView& region, std::string_view onnx) {
  // Field numbers of ONNX's schema (onnx.proto).
  constexpr int kModelGraph = 7;
  constexpr int kGraphInitializer = 5;
  constexpr int kTensorDims = 1;
  constexpr int kTensorDataType = 2;
  constexpr int kTensorName = 8;
  constexpr int kTensorRawData = 9;
  constexpr std::uint64_t kMostBytes = (std::uint64_t{1} << 31) - 1;
  constexpr std::uint64_t kMostHeaderBytes = 512;  // of one initializer: rank 16, a short name

  std::uint64_t size_bytes = onnx.size();
  for (int v = 0; v < region.value_count(); ++v) {
    if (!region.value(v).is_constant()) continue;
    size_bytes += region.value(v).constant().size_bytes() + kMostHeaderBytes;
  }
  if (onnx.empty()) throw Decline("the host sent no ONNX model");
  if (size_bytes > kMostBytes) {
    throw Decline("as an ONNX model it takes " + std::to_string(size_bytes) +
                  " bytes, more than protobuf's 2 GiB");
  }
  std::string model;
  model.reserve(size_bytes);
  model = onnx;
  for (int v = 0; v < region.value_count(); ++v) {
    if (!region.value(v).is_constant()) continue;
    const TensorView constant = region.value(v).constant();
    std::string header;
    WireWriter tensor(&header);
    for (const std::int64_t dim : constant.dims()) {
      tensor.number(kTensorDims, static_cast<std::uint64_t>(dim));
    }
    tensor.number(kTensorDataType, static_cast<std::uint64_t>(constant.dtype()));
    tensor.bytes(kTensorName, onnx_name(v));
    tensor.length(kTensorRawData, constant.size_bytes());
    const std::uint64_t tensor_bytes = header.size() + constant.size_bytes();
    std::string initializer;
    WireWriter(&initializer).length(kGraphInitializer, tensor_bytes);
    WireWriter(&model).length(kModelGraph, initializer.size() + tensor_bytes);
    model.append(initializer).append(header);
    model.append(static_cast<const char*>(constant.data()), constant.size_bytes());
  }
  return model;
}

}  // namespace inlay::sdk
