#include <fmt/format.h>

#include "core/plan/plan_words.h"

namespace inlay {
namespace {

class RegionCheck {
 public:
  RegionCheck(const Region& region, const std::string& source, const std::string& where)
      : region_(region),
        source_(source),
        where_(where),
        is_known_(region.values.size(), false),
        is_produced_(region.values.size(), false) {}

  void run() {
    for (std::size_t v = 0; v < region_.values.size(); ++v) check_value(v);
    check_inputs();
    for (std::size_t n = 0; n < region_.nodes.size(); ++n) check_node(n);
    check_outputs();
  }

 private:
  template <typename... Args>
  [[noreturn]] void fail(const std::string& place, fmt::format_string<Args...> format,
                         Args&&... args) const {
    refuse(source_, where_ + place, fmt::format(format, std::forward<Args>(args)...));
  }

  void check_value(std::size_t v) {
    const RegionValue& value = region_.values[v];
    const std::string place = fmt::format(".values[{}]", v);
    check_type(value.type, value.layout, source_, where_ + place);
    is_known_[v] = value.is_constant;
    if (!value.is_constant) {
      if (value.constant) fail(place, "bytes belong to constants only");
      return;
    }
    if (!value.layout.is_dense()) fail(place, "a constant must be dense");
    if (!value.constant && element_count(value.type.shape) <= kMaxInlineElements) {
      fail(place, "expected the bytes of a constant of up to {} elements", kMaxInlineElements);
    }
    if (value.constant && value.constant->type() != value.type) {
      fail(place, "the constant's bytes are {}, its type is {}", to_string(value.constant->type()),
           to_string(value.type));
    }
  }

  void check_inputs() {
    for (std::size_t i = 0; i < region_.inputs.size(); ++i) {
      const auto value = static_cast<std::size_t>(region_.inputs[i]);
      const std::string place = fmt::format(".inputs[{}]", i);
      if (region_.values[value].is_constant) fail(place, "value {} is a constant", value);
      if (is_known_[value]) fail(place, "value {} is there twice", value);
      is_known_[value] = true;
    }
  }

  void check_node(std::size_t n) {
    const RegionNode& node = region_.nodes[n];
    const std::string place = fmt::format(".nodes[{}]", n);
    if (node.op.empty()) fail(place, "expected an operator");
    // The ABI passes these as C strings.
    for (const std::string* text : {&node.name, &node.domain, &node.op}) {
      if (text->find('\0') != std::string::npos) fail(place, "a name holds a zero byte");
    }
    for (const int input : node.inputs) {
      if (input >= 0 && !is_known_[static_cast<std::size_t>(input)]) {
        fail(place, "value {} is read before it is written", input);
      }
    }
    for (const int output : node.outputs) {
      if (output < 0) continue;
      const auto value = static_cast<std::size_t>(output);
      if (is_known_[value]) fail(place, "value {} is written twice", output);
      is_known_[value] = true;
      is_produced_[value] = true;
    }
    for (const auto& [name, attribute] : node.attributes) {
      if (const Tensor* tensor = std::get_if<Tensor>(&attribute)) {
        const int rank = static_cast<int>(tensor->shape().size());
        check_type(tensor->type(), Layout::dense(rank), source_,
                   fmt::format("{}{}.attributes.{}", where_, place, name));
      }
    }
  }

  void check_outputs() {
    std::vector<bool> is_output(region_.values.size(), false);
    if (region_.outputs.empty()) fail(".outputs", "expected at least one output");
    for (std::size_t i = 0; i < region_.outputs.size(); ++i) {
      const auto value = static_cast<std::size_t>(region_.outputs[i]);
      const std::string place = fmt::format(".outputs[{}]", i);
      if (!is_produced_[value]) fail(place, "no node writes value {}", value);
      if (is_output[value]) fail(place, "value {} is there twice", value);
      is_output[value] = true;
    }
  }

  const Region& region_;
  const std::string& source_;
  const std::string& where_;
  std::vector<bool> is_known_;     // constant, input or already written
  std::vector<bool> is_produced_;  // written by a node
};

}  // namespace

void check_type(const TensorType& type, const Layout& layout, const std::string& source,
                const std::string& where) {
  // Larger extents and blocks could overflow when padded; nothing real comes near.
  constexpr std::int64_t kMaxExtent = std::int64_t{1} << 40;
  constexpr std::int64_t kMaxBlock = std::int64_t{1} << 20;
  constexpr std::size_t kMaxRank = 16;  // letters a to p
  if (size_of(type.dtype) == 0) {
    refuse(source, where, fmt::format("{} has no fixed element size", to_string(type)));
  }
  if (type.shape.size() > kMaxRank) {
    refuse(source, where, fmt::format("expected a rank up to {}", kMaxRank));
  }
  for (const std::int64_t extent : type.shape) {
    if (extent < 0 || extent > kMaxExtent) {
      refuse(source, where, fmt::format("an extent of {} is out of range", to_string(type)));
    }
  }
  if (layout.rank() != static_cast<int>(type.shape.size())) {
    refuse(source, where, fmt::format("layout {} does not fit {}", layout.text(), to_string(type)));
  }
  std::int64_t block = 1;
  for (const LayoutBlock& b : layout.blocks()) {
    block *= b.size;
    if (block > kMaxBlock) {
      refuse(source, where, fmt::format("the blocks of layout {} are too large", layout.text()));
    }
  }
  try {
    layout.size_bytes(type);
  } catch (const Error& error) {
    refuse(source, where, error.what());
  }
}

void check_region(const Region& region, const std::string& source, const std::string& where) {
  RegionCheck(region, source, where).run();
}

}  // namespace inlay
