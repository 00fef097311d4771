#include "graphs/onnx/tensor_proto.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace inlay {
namespace {

// Smaller tensors are copied: what is shared is not aligned to cache lines.
constexpr std::size_t kMinSharedBytes = 4096;

template <typename T, typename Field>
Tensor from_field(const TensorType& type, const Field& field, const std::string& what) {
  const auto expected = static_cast<std::size_t>(element_count(type.shape));
  if (static_cast<std::size_t>(field.size()) != expected) {
    throw Error(Code::kCorrupt, fmt::format("{}: {} needs {} elements, the file has {}", what,
                                            to_string(type), expected, field.size()));
  }
  Tensor tensor = Tensor::zeros(type);
  T* out = reinterpret_cast<T*>(tensor.mutable_bytes().data());
  for (const auto element : field) *out++ = static_cast<T>(element);
  return tensor;
}

// Which field holds which element type is fixed by the schema's comments on TensorProto.
Tensor from_fields(const onnx::TensorProto& proto, const TensorType& type,
                   const std::string& what) {
  switch (type.dtype) {
    case DType::kF32:
      return from_field<float>(type, proto.float_data(), what);
    case DType::kF64:
      return from_field<double>(type, proto.double_data(), what);
    case DType::kI64:
      return from_field<std::int64_t>(type, proto.int64_data(), what);
    case DType::kU32:
      return from_field<std::uint32_t>(type, proto.uint64_data(), what);
    case DType::kU64:
      return from_field<std::uint64_t>(type, proto.uint64_data(), what);
    case DType::kI32:
      return from_field<std::int32_t>(type, proto.int32_data(), what);
    case DType::kI16:
      return from_field<std::int16_t>(type, proto.int32_data(), what);
    case DType::kI8:
      return from_field<std::int8_t>(type, proto.int32_data(), what);
    case DType::kU8:
      return from_field<std::uint8_t>(type, proto.int32_data(), what);
    case DType::kBool:
      return from_field<bool>(type, proto.int32_data(), what);
    default:
      return from_field<std::uint16_t>(type, proto.int32_data(), what);  // u16, f16, bf16
  }
}

bool is_aligned(const std::byte* data, DType dtype) {
  return reinterpret_cast<std::uintptr_t>(data) % size_of(dtype) == 0;
}

Tensor copy_bytes(const TensorType& type, const std::byte* bytes) {
  Tensor tensor = Tensor::zeros(type);
  if (tensor.size_bytes() != 0)
    std::memcpy(tensor.mutable_bytes().data(), bytes, tensor.size_bytes());
  // Any byte but 0 is true in a file; in memory true is 1.
  if (type.dtype == DType::kBool) {
    for (std::byte& b : tensor.mutable_bytes()) b = std::byte{b != std::byte{0}};
  }
  return tensor;
}

TensorType type_of(const onnx::TensorProto& proto, const std::string& what) {
  TensorType type{dtype_of_proto(proto.data_type(), what),
                  {proto.dims().begin(), proto.dims().end()}};
  if (type.shape.size() > 64) {
    throw Error(Code::kUnsupported, fmt::format("{}: rank {}", what, type.shape.size()));
  }
  try {
    dense_bytes(type);
  } catch (const Error& error) {
    throw Error(Code::kCorrupt, fmt::format("{}: {}", what, error.what()));
  }
  if (proto.has_segment())
    throw Error(Code::kUnsupported, fmt::format("{}: stored in segments", what));
  return type;
}

void check_raw_size(const TensorType& type, std::size_t found, const std::string& what) {
  if (found != dense_bytes(type)) {
    throw Error(Code::kCorrupt, fmt::format("{}: {} needs {} bytes, the file has {}", what,
                                            to_string(type), dense_bytes(type), found));
  }
}

std::uint64_t parse_number(const std::string& text, const std::string& key,
                           const std::string& what) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Error(Code::kCorrupt,
                fmt::format("{}: external data has {} '{}', not a number", what, key, text));
  }
  return number;
}

}  // namespace

DType dtype_of_proto(std::int32_t number, const std::string& what) {
  if (number == 0) throw Error(Code::kCorrupt, fmt::format("{}: no element type", what));
  const auto dtype = static_cast<DType>(number);
  if (dtype == DType::kString) {
    throw Error(Code::kUnsupported, fmt::format("{}: strings are not supported", what));
  }
  if (size_of(dtype) == 0) {
    throw Error(Code::kUnsupported,
                fmt::format("{}: element type {} of ONNX is not supported", what, number));
  }
  return dtype;
}

Tensor TensorReader::read(const onnx::TensorProto& proto, const std::string& what) {
  const TensorType type = type_of(proto, what);
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) return read_external(proto, type, what);
  if (!proto.has_raw_data()) return from_fields(proto, type, what);
  check_raw_size(type, proto.raw_data().size(), what);
  return copy_bytes(type, reinterpret_cast<const std::byte*>(proto.raw_data().data()));
}

Tensor TensorReader::take(onnx::TensorProto& proto, const std::string& what) {
  const TensorType type = type_of(proto, what);
  const bool is_raw = proto.data_location() != onnx::TensorProto::EXTERNAL && proto.has_raw_data();
  if (!is_raw || proto.raw_data().size() < kMinSharedBytes || type.dtype == DType::kBool) {
    return read(proto, what);
  }
  check_raw_size(type, proto.raw_data().size(), what);
  const auto bytes = std::make_shared<std::string>(std::move(*proto.mutable_raw_data()));
  const auto* data = reinterpret_cast<const std::byte*>(bytes->data());
  if (!is_aligned(data, type.dtype)) return copy_bytes(type, data);
  return Tensor(type, std::shared_ptr<const std::byte>(bytes, data));
}

const MappedFile& TensorReader::open(const std::string& location, const std::string& what) {
  if (const auto it = files_.find(location); it != files_.end()) return it->second;
  const std::filesystem::path relative(location);
  if (folder_.empty()) {
    throw Error(
        Code::kInvalidArgument,
        fmt::format("{}: its bytes lie in '{}', but the model comes from memory", what, location));
  }
  bool leaves = relative.is_absolute() || location.empty() || location.find('\0') != location.npos;
  for (const auto& part : relative) leaves = leaves || part == "..";
  if (!leaves) {  // nor by a symbolic link
    std::error_code ignored;
    const auto root = std::filesystem::weakly_canonical(folder_, ignored);
    const auto target = std::filesystem::weakly_canonical(folder_ / relative, ignored);
    const auto inside = target.lexically_relative(root);
    leaves = inside.empty() || *inside.begin() == "..";
  }
  if (leaves) {
    throw Error(Code::kCorrupt, fmt::format("{}: external data in '{}', outside the model's folder",
                                            what, location));
  }
  try {
    return files_.emplace(location, map_file(folder_ / relative)).first->second;
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: external data: {}", what, error.what()));
  }
}

Tensor TensorReader::read_external(const onnx::TensorProto& proto, const TensorType& type,
                                   const std::string& what) {
  std::string location;
  std::uint64_t offset = 0;
  std::uint64_t length = dense_bytes(type);
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = parse_number(entry.value(), "offset", what);
    if (entry.key() == "length") length = parse_number(entry.value(), "length", what);
  }
  check_raw_size(type, length, what);
  const MappedFile& file = open(location, what);
  if (offset > file.size_bytes || length > file.size_bytes - offset) {
    throw Error(Code::kCorrupt,
                fmt::format("{}: bytes {} to {} + {} of '{}', which has only {}", what, offset,
                            offset, length, location, file.size_bytes));
  }
  if (length == 0) return Tensor::zeros(type);
  const std::byte* data = file.data.get() + offset;
  if (!is_aligned(data, type.dtype) || type.dtype == DType::kBool) return copy_bytes(type, data);
  return Tensor(type, std::shared_ptr<const std::byte>(file.data, data));
}

std::optional<Attribute> read_attribute(const onnx::AttributeProto& proto, TensorReader& reader,
                                        const std::string& what) {
  onnx::AttributeProto::AttributeType type = proto.type();
  if (type == onnx::AttributeProto::UNDEFINED) {  // old files leave it out
    if (proto.has_f()) type = onnx::AttributeProto::FLOAT;
    if (proto.has_i()) type = onnx::AttributeProto::INT;
    if (proto.has_s()) type = onnx::AttributeProto::STRING;
    if (proto.has_t()) type = onnx::AttributeProto::TENSOR;
    if (proto.has_g()) type = onnx::AttributeProto::GRAPH;
    if (proto.floats_size() > 0) type = onnx::AttributeProto::FLOATS;
    if (proto.ints_size() > 0) type = onnx::AttributeProto::INTS;
    if (proto.strings_size() > 0) type = onnx::AttributeProto::STRINGS;
  }
  switch (type) {
    case onnx::AttributeProto::FLOAT:
      return proto.f();
    case onnx::AttributeProto::INT:
      return static_cast<std::int64_t>(proto.i());
    case onnx::AttributeProto::STRING:
      return proto.s();
    case onnx::AttributeProto::TENSOR:
      return reader.read(proto.t(), fmt::format("{}: attribute '{}'", what, proto.name()));
    case onnx::AttributeProto::FLOATS:
      return std::vector<float>(proto.floats().begin(), proto.floats().end());
    case onnx::AttributeProto::INTS:
      return std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end());
    case onnx::AttributeProto::STRINGS:
      return std::vector<std::string>(proto.strings().begin(), proto.strings().end());
    case onnx::AttributeProto::GRAPH:
    case onnx::AttributeProto::GRAPHS:
      return std::nullopt;
    default:
      throw Error(Code::kUnsupported, fmt::format("{}: attribute '{}' has kind {}", what,
                                                  proto.name(), static_cast<int>(type)));
  }
}

}  // namespace inlay
