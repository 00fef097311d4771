// Text from a file, made fit for a line on a terminal: names in a model may be any bytes.
//
//   printable("in\x1b[2Jput\n  next") == "in\\x1b[2Jput; next"
//   fmt::print("output {}\n", printable_name(value.name));
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace inlay {

// Line breaks with the spaces behind them become "; ", at the end nothing. Control characters,
// those that turn the direction of writing, and bytes that are not UTF-8 become hexadecimal
// escapes, byte by byte. Other characters stay. Of more than `most` characters the middle is left
// out: "ab…yz".
std::string printable(std::string_view text,
                      std::size_t most = std::numeric_limits<std::size_t>::max());

// Of a name: longer ones than anybody reads are shortened.
std::string printable_name(std::string_view name);

}  // namespace inlay
