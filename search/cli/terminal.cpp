#include "search/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace inlay::cli {

std::size_t terminal_width(int descriptor) {
  constexpr std::size_t kFallback = 80;
  if (::isatty(descriptor) == 0) return 0;
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kFallback;
  return size.ws_col;
}

}  // namespace inlay::cli
