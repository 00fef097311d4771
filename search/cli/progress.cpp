#include "search/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "search/cli/terminal.h"

namespace inlay::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kMinInterval = std::chrono::milliseconds(80);
constexpr int kBarWidth = 24;

}  // namespace

ProgressLine::ProgressLine()
    : is_terminal_(::isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      last_(start_ - kMinInterval) {}

void ProgressLine::update(int done, int total, const std::string& what) {
  const Clock::time_point now = Clock::now();
  if (!is_terminal_ || total <= 0 || now - last_ < kMinInterval) return;
  last_ = now;
  const double share = std::clamp(static_cast<double>(done) / total, 0.0, 1.0);
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const int filled = static_cast<int>(share * kBarWidth);
  std::string line = fmt::format(
      "[{:<{}}] {}/{}", std::string(static_cast<std::size_t>(filled), '#'), kBarWidth, done, total);
  if (done > 0) line += fmt::format(" {:.0f} s left", elapsed * (1 - share) / share);
  line += "  " + what;
  line.resize(std::min(line.size(), terminal_width(STDERR_FILENO) - 1));
  fmt::print(stderr, "\r\x1b[K{}", line);
  std::fflush(stderr);
  is_shown_ = true;
}

void ProgressLine::clear() {
  if (!is_shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  is_shown_ = false;
}

}  // namespace inlay::cli
