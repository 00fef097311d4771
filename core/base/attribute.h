// The attributes of an operator: the same data in the graph, in a plan and across the plugin ABI.
// Nested graphs are not attributes; they belong to the graph's nodes.
//
//   Attributes a{{"strides", std::vector<std::int64_t>{2, 2}}, {"group", std::int64_t{1}}};
//   std::int64_t group = get_int(a, "group", 1);
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/tensor.h"

namespace inlay {

using Attribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>,
                               std::vector<float>, std::vector<std::string>, Tensor>;

// Ordered by name, so that printing and hashing are deterministic.
using Attributes = std::map<std::string, Attribute, std::less<>>;

// "1", "0.5", "\"max\"", "[1, 2]", "f32[2]"; for messages.
std::string to_string(const Attribute& attribute);

// The attribute of that name, or the default if it is absent.
// throws  Error{kInvalidArgument} naming attribute, expected and found kind, if it has another kind
std::int64_t get_int(const Attributes& attributes, std::string_view name, std::int64_t fallback);
float get_float(const Attributes& attributes, std::string_view name, float fallback);
std::string get_string(const Attributes& attributes, std::string_view name,
                       std::string_view fallback);
std::vector<std::int64_t> get_ints(const Attributes& attributes, std::string_view name,
                                   const std::vector<std::int64_t>& fallback);
std::vector<float> get_floats(const Attributes& attributes, std::string_view name,
                              const std::vector<float>& fallback);

bool has(const Attributes& attributes, std::string_view name);

}  // namespace inlay
