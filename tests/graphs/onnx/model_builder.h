// Builds an ONNX model by hand, for tests.
//
//   ModelBuilder m(13);
//   m.input("x", DType::kF32, {1, 3}).constant("w", Tensor::from<float>({3}, {1, 2, 3}));
//   m.node("Add", {"x", "w"}, {"y"});
//   m.output("y");
//   const Imported imported = m.import();
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "core/base/attribute.h"
#include "graphs/onnx/import.h"
#include "onnx/onnx.pb.h"

namespace inlay {

class ModelBuilder {
 public:
  explicit ModelBuilder(std::int64_t opset);

  // A dimension that is a word is a symbol; "?" one without a name.
  ModelBuilder& input(const std::string& name, DType dtype, const std::vector<std::string>& dims);
  ModelBuilder& input(const std::string& name, DType dtype, const Shape& dims);
  ModelBuilder& constant(const std::string& name, const Tensor& tensor);
  ModelBuilder& output(const std::string& name);
  // Returns the node, for attributes of graphs, names and domains.
  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const Attributes& attributes = {});

  std::string bytes() const { return model.SerializeAsString(); }
  Imported import(const ImportOptions& options = {}) const;

  onnx::ModelProto model;
};

Attribute ints(std::initializer_list<std::int64_t> values);
Attribute text(const char* value);
Tensor ints_tensor(const std::vector<std::int64_t>& values);

// Imports bytes, without a folder for external data.
Imported import_bytes(const std::string& bytes, const ImportOptions& options = {});

// The message of the error that import ends with; fails the test if there is none or its code is
// another.
std::string import_error(const std::string& bytes, Code code, const ImportOptions& options = {});

// Fails the test, showing both, if `part` is not in `whole`.
void expect_in(const std::string& part, const std::string& whole);

}  // namespace inlay
