#include "graphs/onnx/importer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "graphs/ir/passes.h"
#include "graphs/onnx/bind_shapes.h"
#include "graphs/onnx/fold_affine.h"
#include "graphs/onnx/fold_pad.h"
#include "graphs/onnx/given_value.h"
#include "graphs/onnx/sink_transposes.h"

namespace inlay {
namespace {

constexpr std::int64_t kOldestOpset = 6;
constexpr std::int64_t kNewestOpset = 25;
constexpr int kMaxDepth =
    64;  // nested graphs and functions; a function that calls itself ends here

std::string normal_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::int64_t find_opset(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
  std::int64_t opset = 0;
  for (const auto& entry : imports) {
    if (normal_domain(entry.domain()).empty())
      opset = std::max<std::int64_t>(opset, entry.version());
  }
  return opset;
}

void check_opset(std::int64_t opset) {
  if (opset == 0) {
    throw Error(Code::kCorrupt, "the model does not say which opset of ai.onnx it uses");
  }
  if (opset < kOldestOpset || opset > kNewestOpset) {
    throw Error(Code::kUnsupported, fmt::format("opset {} is not supported, only {} to {} are",
                                                opset, kOldestOpset, kNewestOpset));
  }
}

std::vector<std::string> names_of(
    const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& values) {
  std::vector<std::string> names;
  for (const auto& value : values) names.push_back(value.name());
  return names;
}

// Inputs that a value is computed from.
std::set<ValueId> sources_of(const Draft& draft, ValueId value) {
  std::set<ValueId> sources;
  std::set<ValueId> seen;
  std::vector<ValueId> open{value};
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    if (id.is_none() || !seen.insert(id).second) continue;
    if (std::find(draft.inputs.begin(), draft.inputs.end(), id) != draft.inputs.end()) {
      sources.insert(id);
    }
    for (const Node& node : draft.nodes) {
      if (std::find(node.outputs.begin(), node.outputs.end(), id) == node.outputs.end()) continue;
      open.insert(open.end(), node.inputs.begin(), node.inputs.end());
    }
  }
  return sources;
}

// "; it follows from input 'sr': --value sr=NUMBER makes that a constant": of the inputs with one
// element, or else of all.
std::string value_hint(const Draft& draft, ValueId condition) {
  const std::set<ValueId> sources = sources_of(draft, condition);
  std::vector<std::string> names;
  std::vector<std::string> flags;
  for (const bool only_scalars : {true, false}) {
    if (!names.empty()) break;
    for (const ValueId id : sources) {
      const Value& input = draft.value(id);
      if (only_scalars && element_count(input.type.shape) != 1) continue;
      names.push_back(fmt::format("'{}'", input.name));
      flags.push_back(fmt::format("--value {}=NUMBER", input.name));
    }
  }
  if (names.empty()) return "";
  return fmt::format("; it follows from {} {}: {} makes {} constant",
                     names.size() == 1 ? "input" : "inputs", fmt::join(names, ", "),
                     fmt::join(flags, " "), names.size() == 1 ? "it" : "them");
}

}  // namespace

Importer::Importer(onnx::ModelProto& model, std::filesystem::path folder,
                   const ImportOptions& options)
    : model_(model), options_(options), reader_(std::move(folder)), draft_(options.evaluate) {
  for (const auto& function : model.functions()) {
    functions_[{normal_domain(function.domain()), function.name()}] = &function;
  }
}

std::optional<ValueId> Importer::Scope::find(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent) {
    if (const auto it = scope->values.find(name); it != scope->values.end()) return it->second;
  }
  return std::nullopt;
}

Imported Importer::run() {
  Frame frame;
  frame.opset = find_opset(model_.opset_import());
  check_opset(frame.opset);
  onnx::GraphProto& graph = *model_.mutable_graph();
  if (graph.output_size() == 0) throw Error(Code::kCorrupt, "the graph has no output");
  Scope scope;
  read_inputs(graph, scope);
  import_nodes(graph.node(), names_of(graph.output()), scope, frame);
  for (const auto& output : graph.output()) {
    for (const auto& [name, id] : draft_.outputs) {
      if (name == output.name()) {
        throw Error(Code::kCorrupt, fmt::format("output '{}' is listed twice", name));
      }
    }
    draft_.outputs.emplace_back(output.name(), find(output.name(), scope, "the graph's outputs"));
  }
  if (options_.sink_transposes) sink_transposes(draft_);
  fold_pads(draft_);
  if (options_.fold_batch_norm) fold_affine(draft_);

  Imported imported;
  imported.file_nodes = graph.node_size();
  imported.opset = frame.opset;
  PassResult live = remove_dead(draft_.build(graph.name().empty() ? "graph" : graph.name()));
  PassResult merged = merge_equal(live.graph);
  imported.graph = std::move(merged.graph);
  imported.rewrites = std::move(draft_.rewrites);
  if (!live.removed.empty()) imported.rewrites.push_back({"remove-dead", live.removed, false});
  if (!merged.removed.empty()) imported.rewrites.push_back({"merge-equal", merged.removed, false});
  return imported;
}

// An initializer that is an input too is its default value: a constant, unless a shape is given for
// the input. An input whose value is given is a constant as well.
void Importer::read_inputs(onnx::GraphProto& graph, Scope& scope) {
  if (graph.sparse_initializer_size() > 0) {
    throw Error(Code::kUnsupported, fmt::format("sparse initializer '{}' is not supported",
                                                graph.sparse_initializer(0).values().name()));
  }
  std::map<std::string, Shape> shapes = options_.shapes;
  for (const auto& [name, tensor] : options_.values) shapes.insert_or_assign(name, tensor.shape());
  std::unordered_set<std::string> defaults;
  for (const auto& tensor : graph.initializer()) {
    if (!defaults.insert(tensor.name()).second) {
      throw Error(Code::kCorrupt, fmt::format("initializer '{}' is defined twice", tensor.name()));
    }
  }
  std::set<std::string> declared;
  std::vector<const onnx::ValueInfoProto*> inputs;
  for (const auto& input : graph.input()) {
    if (input.name().empty()) throw Error(Code::kCorrupt, "an input has no name");
    if (!declared.insert(input.name()).second) {
      throw Error(Code::kCorrupt, fmt::format("input '{}' is defined twice", input.name()));
    }
    if (defaults.count(input.name()) == 0 || shapes.count(input.name()) != 0 ||
        options_.numbers.count(input.name()) != 0) {
      inputs.push_back(&input);
    }
  }
  for (const auto& [name, number] : options_.numbers) {
    if (declared.count(name) != 0) continue;
    throw Error(Code::kInvalidArgument,
                fmt::format("there is no input '{}' to give a value for; the inputs are '{}'", name,
                            fmt::join(declared, "', '")));
  }
  for (auto& [name, type] : bind_shapes(inputs, shapes)) {
    const auto given = options_.values.find(name);
    if (const auto number = options_.numbers.find(name); number != options_.numbers.end()) {
      scope.values[name] = draft_.add_constant(given_value(type, number->second, name), name);
      draft_.note("fix-input", name);
    } else if (given == options_.values.end()) {
      scope.values[name] = draft_.add_input(name, std::move(type));
    } else if (given->second.type() != type) {
      throw Error(Code::kInvalidArgument,
                  fmt::format("input '{}': the file declares {}, the value given is {}", name,
                              to_string(type), to_string(given->second.type())));
    } else {
      scope.values[name] = draft_.add_constant(given->second, name);
      draft_.note("fix-input", name);
    }
  }
  for (auto& tensor : *graph.mutable_initializer()) {
    if (scope.values.count(tensor.name()) != 0) continue;
    scope.values[tensor.name()] = draft_.add_constant(
        reader_.take(tensor, fmt::format("tensor '{}'", tensor.name())), tensor.name());
  }
}

void Importer::import_nodes(const NodeProtos& nodes, const std::vector<std::string>& outputs,
                            Scope& scope, const Frame& frame) {
  NodeOrder order = order_nodes(
      nodes, [&](const std::string& name) { return scope.values.count(name) != 0; },
      [&](const std::string& name) {
        return scope.parent != nullptr && scope.parent->find(name).has_value();
      });
  order.reads.insert(outputs.begin(), outputs.end());
  for (const int i : order.order) {
    const onnx::NodeProto& node = nodes[i];
    std::vector<bool> wanted;
    std::size_t last_wanted = 0;
    for (const std::string& output : node.output()) {
      wanted.push_back(!output.empty() && order.reads.count(output) != 0);
      if (wanted.back()) last_wanted = wanted.size();
    }
    const std::string name = unique_name(node);
    if (last_wanted == 0) {
      draft_.note("remove-dead", name);
      continue;
    }
    const Values results = import_node(node, name, scope, frame, wanted);
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      if (!wanted[k]) continue;
      if (k >= results.size() || results[k].is_none()) {
        throw Error(Code::kUnsupported,
                    fmt::format("{} '{}': output {} is not supported", node.op_type(), name, k));
      }
      const std::string& output = node.output(static_cast<int>(k));
      scope.values[output] = results[k];
      draft_.name_value(results[k], output);
    }
  }
}

Values Importer::import_node(const onnx::NodeProto& node, const std::string& name,
                             const Scope& scope, const Frame& frame,
                             const std::vector<bool>& wanted) {
  const std::string domain = normal_domain(node.domain());
  const std::string& op = node.op_type();
  try {
    const auto function = functions_.find({domain, op});
    if (function != functions_.end()) return import_function(*function->second, node, scope, frame);
    if (domain.empty() && op == "If") return import_if(node, name, scope, frame);
    if (domain.empty() && (op == "Loop" || op == "Scan")) {
      throw Error(Code::kUnsupported,
                  fmt::format("{} '{}': data-dependent control flow is not supported", op, name));
    }
    const Canonicalizer canonicalize = find_canonicalizer(domain, op);
    if (canonicalize == nullptr) {
      throw Error(Code::kUnsupported,
                  fmt::format("node '{}': operator {} of domain {} (opset {}) is not supported",
                              name, op, domain.empty() ? "ai.onnx" : domain, frame.opset));
    }
    Values inputs;
    for (const std::string& input : node.input()) {
      inputs.push_back(input.empty() ? kNoValue : find(input, scope, name));
    }
    Attributes attributes;
    for (const auto& attribute : node.attribute()) {
      const onnx::AttributeProto* resolved = resolve(attribute, frame);
      if (resolved == nullptr) continue;
      if (auto value = read_attribute(*resolved, reader_, fmt::format("{} '{}'", op, name))) {
        attributes.insert_or_assign(attribute.name(), std::move(*value));
      }
    }
    Operator context(draft_, name, op, frame.opset, std::move(inputs), wanted,
                     std::move(attributes));
    return canonicalize(context);
  } catch (const Error& error) {
    // What comes from below may not know which node it is about.
    const std::string text = error.what();
    if (text.find(fmt::format("'{}'", name)) != text.npos) throw;
    throw Error(error.code(), fmt::format("{} '{}': {}", op, name, text));
  }
}

Values Importer::import_if(const onnx::NodeProto& node, const std::string& name, const Scope& scope,
                           const Frame& frame) {
  if (node.input_size() != 1) {
    throw Error(Code::kCorrupt,
                fmt::format("If '{}': expected one operand, found {}", name, node.input_size()));
  }
  const Tensor* condition = draft_.constant(find(node.input(0), scope, name));
  if (condition == nullptr) {
    throw Error(
        Code::kUnsupported,
        fmt::format("If '{}': data-dependent control flow is not supported: its condition '{}' "
                    "is not constant, or could not be computed at import{}",
                    name, node.input(0), value_hint(draft_, find(node.input(0), scope, name))));
  }
  const Ints values = to_ints(*condition);
  const std::string branch = !values.empty() && values[0] != 0 ? "then_branch" : "else_branch";
  for (const auto& attribute : node.attribute()) {
    const onnx::AttributeProto* resolved = resolve(attribute, frame);
    if (attribute.name() != branch || resolved == nullptr || !resolved->has_g()) continue;
    draft_.note("inline-if", name);
    return import_branch(resolved->g(), scope, frame);
  }
  throw Error(Code::kCorrupt, fmt::format("If '{}' has no {}", name, branch));
}

Values Importer::import_branch(const onnx::GraphProto& graph, const Scope& scope,
                               const Frame& frame) {
  if (frame.depth >= kMaxDepth) throw Error(Code::kUnsupported, "graphs are nested too deep");
  if (graph.input_size() > 0) throw Error(Code::kCorrupt, "a branch of If has inputs");
  Scope inner;
  inner.parent = &scope;
  for (const auto& tensor : graph.initializer()) {
    inner.values[tensor.name()] =
        draft_.add_constant(reader_.read(tensor, fmt::format("tensor '{}'", tensor.name())));
  }
  const std::size_t first_inner = draft_.values.size();
  Frame below = frame;
  ++below.depth;
  import_nodes(graph.node(), names_of(graph.output()), inner, below);
  Values results;
  for (const auto& output : graph.output()) {
    results.push_back(find(output.name(), inner, "a branch's outputs"));
  }
  leave_names_to_caller(results, first_inner);
  return results;
}

Values Importer::import_function(const onnx::FunctionProto& function, const onnx::NodeProto& node,
                                 const Scope& scope, const Frame& frame) {
  if (frame.depth >= kMaxDepth) throw Error(Code::kUnsupported, "functions are nested too deep");
  Scope inner;
  for (int i = 0; i < function.input_size(); ++i) {
    const bool is_given = i < node.input_size() && !node.input(i).empty();
    inner.values[function.input(i)] =
        is_given ? find(node.input(i), scope, node.op_type()) : kNoValue;
  }
  const std::size_t first_inner = draft_.values.size();
  Frame below;
  below.depth = frame.depth + 1;
  below.opset = find_opset(function.opset_import());
  if (below.opset == 0) below.opset = frame.opset;
  check_opset(below.opset);
  for (const auto& attribute : function.attribute_proto()) {
    below.attributes[attribute.name()] = &attribute;
  }
  for (const auto& attribute : node.attribute()) {
    if (const auto* resolved = resolve(attribute, frame))
      below.attributes[attribute.name()] = resolved;
  }
  const std::vector<std::string> outputs(function.output().begin(), function.output().end());
  import_nodes(function.node(), outputs, inner, below);
  Values results;
  for (const std::string& output : outputs) {
    results.push_back(find(output, inner, "a function's outputs"));
  }
  leave_names_to_caller(results, first_inner);
  return results;
}

void Importer::leave_names_to_caller(const Values& results, std::size_t first_inner) {
  for (const ValueId id : results) {
    if (!id.is_none() && static_cast<std::size_t>(id.index) >= first_inner)
      draft_.value(id).name.clear();
  }
}

ValueId Importer::find(const std::string& tensor, const Scope& scope,
                       const std::string& reader) const {
  if (const auto id = scope.find(tensor)) return *id;
  throw Error(Code::kCorrupt,
              fmt::format("'{}' reads tensor '{}', which nothing produces", reader, tensor));
}

// In a function an attribute may refer to one of the caller's.
const onnx::AttributeProto* Importer::resolve(const onnx::AttributeProto& attribute,
                                              const Frame& frame) const {
  if (attribute.ref_attr_name().empty()) return &attribute;
  const auto it = frame.attributes.find(attribute.ref_attr_name());
  return it == frame.attributes.end() ? nullptr : it->second;
}

std::string Importer::unique_name(const onnx::NodeProto& node) {
  const std::string base = node.name().empty() ? node.op_type() : node.name();
  int& number = names_.emplace(base, 0).first->second;
  if (!node.name().empty() && number == 0) {
    number = 1;
    return base;
  }
  for (;;) {
    std::string candidate = fmt::format("{}_{}", base, number++);
    if (names_.emplace(candidate, 1).second) return candidate;
  }
}

}  // namespace inlay
