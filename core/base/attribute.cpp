#include "core/base/attribute.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.h"

namespace inlay {
namespace {

const char* kind_name(const Attribute& attribute) {
  constexpr const char* kNames[] = {"int",    "float",   "string", "ints",
                                    "floats", "strings", "tensor"};
  return kNames[attribute.index()];
}

template <typename T>
T get(const Attributes& attributes, std::string_view name, const T& fallback) {
  const auto it = attributes.find(name);
  if (it == attributes.end()) return fallback;
  if (const T* value = std::get_if<T>(&it->second)) return *value;
  throw Error(Code::kInvalidArgument, fmt::format("attribute '{}': expected {}, found {} {}", name,
                                                  kind_name(Attribute(fallback)),
                                                  kind_name(it->second), to_string(it->second)));
}

}  // namespace

std::string to_string(const Attribute& attribute) {
  struct Printer {
    std::string operator()(std::int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(float v) const { return fmt::format("{}", v); }
    std::string operator()(const std::string& v) const { return fmt::format("\"{}\"", v); }
    std::string operator()(const std::vector<std::int64_t>& v) const {
      return fmt::format("[{}]", fmt::join(v, ", "));
    }
    std::string operator()(const std::vector<float>& v) const {
      return fmt::format("[{}]", fmt::join(v, ", "));
    }
    std::string operator()(const std::vector<std::string>& v) const {
      return fmt::format("[{}]", fmt::join(v, ", "));
    }
    std::string operator()(const Tensor& v) const { return to_string(v.type()); }
  };
  return std::visit(Printer{}, attribute);
}

std::int64_t get_int(const Attributes& attributes, std::string_view name, std::int64_t fallback) {
  return get<std::int64_t>(attributes, name, fallback);
}

float get_float(const Attributes& attributes, std::string_view name, float fallback) {
  return get<float>(attributes, name, fallback);
}

std::string get_string(const Attributes& attributes, std::string_view name,
                       std::string_view fallback) {
  return get<std::string>(attributes, name, std::string(fallback));
}

std::vector<std::int64_t> get_ints(const Attributes& attributes, std::string_view name,
                                   const std::vector<std::int64_t>& fallback) {
  return get(attributes, name, fallback);
}

std::vector<float> get_floats(const Attributes& attributes, std::string_view name,
                              const std::vector<float>& fallback) {
  return get(attributes, name, fallback);
}

bool has(const Attributes& attributes, std::string_view name) {
  return attributes.find(name) != attributes.end();
}

}  // namespace inlay
