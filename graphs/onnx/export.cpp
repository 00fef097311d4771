#include "graphs/onnx/export.h"

#include <fmt/format.h>

#include <limits>

#include "core/base/error.h"
#include "core/base/file.h"
#include "graphs/onnx/node_writer.h"

namespace inlay {
namespace {

// Above this the weights go to a file of their own: protobuf ends at 2 GiB, and the rest of the
// model needs room too.
constexpr std::size_t kMaxInsideBytes = std::size_t{1500} << 20;
// Smaller tensors stay inside even then.
constexpr std::size_t kMinOutsideBytes = 1024;
// Each tensor of the data file begins on a page, so that it can be mapped.
constexpr std::size_t kPageBytes = 4096;
constexpr std::int64_t kIrVersion = 9;  // of onnx 1.15, the first with opset 20

void write_value(const Value& value, onnx::ValueInfoProto& out) {
  out.set_name(value.name);
  onnx::TypeProto::Tensor& type = *out.mutable_type()->mutable_tensor_type();
  type.set_elem_type(static_cast<std::int32_t>(value.type.dtype));
  onnx::TensorShapeProto& shape = *type.mutable_shape();
  for (const std::int64_t dim : value.type.shape) shape.add_dim()->set_dim_value(dim);
}

// The constants that stand in the model: read by a node, or an output.
std::vector<ValueId> used_constants(const Graph& graph) {
  std::vector<ValueId> ids;
  for (std::int32_t i = 0; i < graph.value_count(); ++i) {
    const ValueId id{i};
    const bool is_used = !graph.consumers(id).empty() || graph.is_output(id);
    if (graph.is_constant(id) && is_used) ids.push_back(id);
  }
  return ids;
}

std::size_t total_bytes(const Graph& graph) {
  std::size_t total = 0;
  for (const ValueId id : used_constants(graph)) total += graph.value(id).constant->size_bytes();
  return total;
}

// The bytes of a data file, as they will be written.
struct OutsideData {
  std::string file_name;
  std::vector<std::span<const std::byte>> parts;
  std::size_t size_bytes = 0;
};

void write_outside(const Tensor& tensor, const std::string& name, OutsideData& data,
                   onnx::TensorProto& out) {
  static constexpr std::byte kPadding[kPageBytes] = {};
  const std::size_t padding = (kPageBytes - data.size_bytes % kPageBytes) % kPageBytes;
  data.parts.push_back({kPadding, padding});
  data.size_bytes += padding;
  out.set_name(name);
  out.set_data_type(static_cast<std::int32_t>(tensor.dtype()));
  for (const std::int64_t dim : tensor.shape()) out.add_dims(dim);
  out.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto add = [&](const char* key, const std::string& value) {
    onnx::StringStringEntryProto& entry = *out.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  };
  add("location", data.file_name);
  add("offset", std::to_string(data.size_bytes));
  add("length", std::to_string(tensor.size_bytes()));
  data.parts.push_back(tensor.bytes());
  data.size_bytes += tensor.size_bytes();
}

void check_range(std::int64_t opset) {
  if (opset < kOldestExportOpset || opset > kNewestExportOpset) {
    throw Error(Code::kUnsupported, fmt::format("opset {} is not written, only {} to {}", opset,
                                                kOldestExportOpset, kNewestExportOpset));
  }
}

enum class Constants { kWritten, kLeftOut };

// `outside` is null where everything stays inside.
std::string serialize(const Graph& graph, std::int64_t opset, Constants constants,
                      OutsideData* outside) {
  check_range(opset);
  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("inlay");
  model.add_opset_import()->set_version(opset);
  onnx::GraphProto& out = *model.mutable_graph();
  out.set_name(graph.name());
  for (const ValueId id : graph.inputs()) write_value(graph.value(id), *out.add_input());
  for (const ValueId id : used_constants(graph)) {
    if (constants == Constants::kLeftOut) break;
    const Value& value = graph.value(id);
    onnx::TensorProto& tensor = *out.add_initializer();
    if (outside != nullptr && value.constant->size_bytes() >= kMinOutsideBytes) {
      write_outside(*value.constant, value.name, *outside, tensor);
    } else {
      write_tensor(*value.constant, value.name, tensor);
    }
  }
  NodeWriter writer(graph, opset, out);
  for (const Node& node : graph.nodes()) writer.write(node);
  std::vector<bool> is_listed(static_cast<std::size_t>(graph.value_count()), false);
  for (const ValueId id : graph.outputs()) {
    Value value = graph.value(id);
    if (is_listed[static_cast<std::size_t>(id.index)]) {  // ONNX lists a tensor once
      onnx::NodeProto& copy = *out.add_node();
      copy.set_op_type("Identity");
      copy.add_input(value.name);
      value.name = writer.fresh_name(value.name + "_copy");
      copy.set_name(value.name);
      copy.add_output(value.name);
    }
    is_listed[static_cast<std::size_t>(id.index)] = true;
    write_value(value, *out.add_output());
  }
  if (model.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Error(Code::kUnsupported,
                fmt::format("graph '{}' takes {} bytes as ONNX, more than protobuf's 2 GiB",
                            graph.name(), model.ByteSizeLong()));
  }
  return model.SerializeAsString();
}

}  // namespace

std::string export_onnx_bytes(const Graph& graph, std::int64_t opset) {
  const std::size_t weights = total_bytes(graph);
  if (weights > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Error(Code::kUnsupported,
                fmt::format("graph '{}' has {} bytes of constants, more than protobuf's 2 GiB",
                            graph.name(), weights));
  }
  return serialize(graph, opset, Constants::kWritten, nullptr);
}

std::string export_onnx_structure(const Graph& graph, std::int64_t opset) {
  return serialize(graph, opset, Constants::kLeftOut, nullptr);
}

std::vector<std::string> unwritable_nodes(const Graph& graph, std::int64_t opset) {
  check_range(opset);
  onnx::GraphProto scratch;
  NodeWriter writer(graph, opset, scratch);
  std::vector<std::string> reasons;
  for (const Node& node : graph.nodes()) {
    reasons.emplace_back();
    try {
      writer.write(node);
    } catch (const Error& error) {  // trial: the reason is the result
      if (error.code() != Code::kUnsupported) throw;
      reasons.back() = error.what();
    }
    scratch.clear_node();
    scratch.clear_initializer();
  }
  return reasons;
}

void export_onnx(const Graph& graph, const std::filesystem::path& path, std::int64_t opset) {
  if (total_bytes(graph) <= kMaxInsideBytes) {
    write_file(path, export_onnx_bytes(graph, opset));
    return;
  }
  OutsideData data;
  data.file_name = path.filename().string() + ".data";
  const std::string model = serialize(graph, opset, Constants::kWritten, &data);
  write_file(path.parent_path() / data.file_name, data.parts);
  write_file(path, model);
}

}  // namespace inlay
