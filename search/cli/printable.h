// Text from a file, made fit for a line on a terminal: names in a model may be any bytes.
//
//   printable("in\x1b[2Jput\n  next") == "in\\x1b[2Jput; next"
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace inlay::cli {

// Line breaks with the spaces behind them become "; ", at the end nothing; other control characters
// their hexadecimal escape. Other bytes stay.
std::string printable(std::string_view text);

// Indented; bytes that are not UTF-8 become U+FFFD.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace inlay::cli
