// What a manifest says that the plugin will not pass: {"xfail": {"34": "no kernel for odd
// extents"}}.
//
//   const auto expected = declared_failures(json);
//   if (const auto it = expected.find(34); it != expected.end()) ...   // it->second is the reason
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace inlay::check {

// By check id. Entries that are no such thing are passed over; check 3 reports them.
std::map<int, std::string> declared_failures(const nlohmann::json& manifest);

// "" or what is wrong with the entry.
std::string fault_of_declared_failures(const nlohmann::json& manifest);

}  // namespace inlay::check
