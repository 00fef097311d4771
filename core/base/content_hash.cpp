#include "core/base/content_hash.h"

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace inlay {
namespace {

void add_attribute(Hasher& hasher, const Attribute& attribute) {
  struct Adder {
    Hasher& hasher;
    void operator()(std::int64_t v) const { hasher.add(v); }
    void operator()(float v) const { hasher.add(std::as_bytes(std::span(&v, 1))); }
    void operator()(const std::string& v) const { hasher.add(v); }
    void operator()(const std::vector<std::int64_t>& v) const {
      hasher.add(std::as_bytes(std::span(v)));
    }
    void operator()(const std::vector<float>& v) const { hasher.add(std::as_bytes(std::span(v))); }
    void operator()(const std::vector<std::string>& v) const {
      hasher.add(static_cast<std::int64_t>(v.size()));
      for (const std::string& text : v) hasher.add(text);
    }
    void operator()(const Tensor& v) const { add_to_hash(hasher, v); }
  };
  hasher.add(static_cast<std::int64_t>(attribute.index()));
  std::visit(Adder{hasher}, attribute);
}

}  // namespace

void add_to_hash(Hasher& hasher, const TensorType& type) {
  hasher.add(static_cast<std::int64_t>(type.dtype));
  hasher.add(std::as_bytes(std::span(type.shape)));
}

void add_to_hash(Hasher& hasher, const Tensor& tensor) {
  add_to_hash(hasher, tensor.type());
  hasher.add(tensor.bytes());
}

void add_to_hash(Hasher& hasher, const Attributes& attributes) {
  hasher.add(static_cast<std::int64_t>(attributes.size()));
  for (const auto& [name, value] : attributes) {
    hasher.add(name);
    add_attribute(hasher, value);
  }
}

}  // namespace inlay
