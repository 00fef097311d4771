// Tensors of an ONNX file: typed fields, raw bytes, and external data, which is mapped and not
// copied.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/base/attribute.h"
#include "core/base/file.h"
#include "core/base/tensor.h"
#include "onnx/onnx.pb.h"

namespace inlay {

// The DType of an ONNX element type.
// throws  Error{kUnsupported} "tensor 'w': …" for strings, complex numbers and types of less than a
// byte
DType dtype_of_proto(std::int32_t number, const std::string& what);

// Reads tensors, and the files their bytes lie in.
class TensorReader {
 public:
  // folder  where external data is looked for; empty: it is refused
  explicit TensorReader(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // what  for messages: "tensor 'w'"
  // throws  Error{kCorrupt} if the bytes do not match the shape, Error{kNotFound} for a missing
  // file of external data,
  //         Error{kUnsupported} for other element types
  Tensor read(const onnx::TensorProto& proto, const std::string& what);
  // The same, taking large raw bytes out of the message instead of copying them.
  Tensor take(onnx::TensorProto& proto, const std::string& what);

 private:
  Tensor read_external(const onnx::TensorProto& proto, const TensorType& type,
                       const std::string& what);
  const MappedFile& open(const std::string& location, const std::string& what);

  std::filesystem::path folder_;
  std::map<std::string, MappedFile> files_;
};

// An attribute that is a number, a string, a list of these or a tensor; nullopt for graphs.
// throws  Error{kUnsupported} for types and sparse tensors
std::optional<Attribute> read_attribute(const onnx::AttributeProto& proto, TensorReader& reader,
                                        const std::string& what);

}  // namespace inlay
