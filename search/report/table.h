// Text tables for terminals: columns padded to their widest cell, numbers to the right.
//
//   Table table({{"plugin"}, {"time", Align::kRight}});
//   table.add({"onednn", "12.3 ms"});
//   std::cout << table.text();
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace inlay {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // Whatever the cells hold, they stay in their line (core/base/printable.h).
  void add(std::vector<std::string> cells);
  bool is_empty() const { return rows_.empty(); }
  //   width  that no line shall exceed where shortening texts in the middle ("layer…conv1") can do
  //          it; 0: none
  std::string text(std::size_t width = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// "layer4…conv1": at most `width` columns, the middle left out.
std::string shortened(const std::string& text, std::size_t width);

// The text in lines of at most `width` columns, broken at blanks and after commas and bars; all
// but the first begin with `indent` blanks. The first starts at column `indent` too.
std::string wrapped(const std::string& text, std::size_t width, std::size_t indent);

// "12.3 ms", "860 us", "1.20 s": three significant digits and a unit.
std::string format_ns(double ns);
// "8.18 GFLOPs", "43.1 MFLOPs": as format_ns.
std::string format_flops(double flops);
// "24.4 MB" (10^6 bytes), "310 kB", "12 B".
std::string format_bytes(double bytes);

}  // namespace inlay
