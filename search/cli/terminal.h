// The width of the terminal that a text goes to.
//
//   fmt::print("{}", table.text(terminal_width(STDOUT_FILENO)));
#pragma once

#include <cstddef>

namespace inlay::cli {

// Columns; 0 where the file descriptor is no terminal, so that what is piped stays whole.
std::size_t terminal_width(int descriptor);

}  // namespace inlay::cli
