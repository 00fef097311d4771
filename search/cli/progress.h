// Progress on a terminal: one line that rewrites itself; nothing where standard error is not a
// terminal.
//
//   ProgressLine line;  line.update(12, 80, "onednn conv1");  line.clear();
#pragma once

#include <chrono>
#include <string>

namespace inlay::cli {

class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void update(int done, int total, const std::string& what);
  void clear();

 private:
  bool is_terminal_;
  bool is_shown_ = false;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace inlay::cli
