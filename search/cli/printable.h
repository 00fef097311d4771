// What the command line prints of others' text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/base/printable.h"

namespace inlay::cli {

using inlay::printable;

// Indented; bytes that are not UTF-8 become U+FFFD.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace inlay::cli
