#include "search/report/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/printable.h"

namespace inlay {
namespace {

// Terminal columns of UTF-8 text: code points, as no wide character appears in our tables.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width, Align align) {
  const std::string space(width - std::min(width, width_of(text)), ' ');
  return align == Align::kRight ? space + text : text + space;
}

// Names this short are not shortened further.
constexpr std::size_t kLeastWidth = 12;

// Takes what is too much from the widest columns of text, the widest first; numbers stay whole.
void fit(std::vector<std::size_t>& widths, const std::vector<Column>& columns, std::size_t width) {
  constexpr std::size_t kGap = 2;  // before each column
  std::size_t sum = 0;
  for (const std::size_t w : widths) sum += w + kGap;
  for (; sum > width; --sum) {
    std::size_t* widest = nullptr;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (columns[c].align == Align::kRight || widths[c] <= kLeastWidth) continue;
      if (widest == nullptr || widths[c] > *widest) widest = &widths[c];
    }
    if (widest == nullptr) return;
    --*widest;
  }
}

struct Unit {
  double size;
  const char* name;
};

template <std::size_t N>
std::string format_unit(double value, const Unit (&units)[N]) {
  for (const Unit& unit : units) {
    const double scaled = value / unit.size;
    // 999.5 would print as 1000: it belongs to the next unit, which comes first in the list.
    if (scaled < 0.9995 && unit.size != units[N - 1].size) continue;
    const int decimals = scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f} {}", scaled, decimals, unit.name);
  }
  return {};
}

}  // namespace

std::string shortened(const std::string& text, std::size_t width) {
  const std::size_t whole = width_of(text);
  if (whole <= width || width < 3) return text;
  const std::size_t head = width / 2;
  const std::size_t tail = width - head - 1;
  std::string start;
  std::string end;
  std::size_t column = 0;
  for (const char c : text) {
    if ((c & 0xc0) != 0x80) ++column;
    if (column <= head) start += c;
    if (column > whole - tail) end += c;
  }
  return start + "…" + end;
}

void Table::add(std::vector<std::string> cells) {
  constexpr std::size_t kLongest = 400;
  for (std::string& cell : cells) cell = printable(cell, kLongest);
  rows_.push_back(std::move(cells));
}

std::string Table::text(std::size_t width) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    widths.push_back(width_of(columns_[c].title));
    for (const auto& row : rows_) widths[c] = std::max(widths[c], width_of(row[c]));
  }
  if (width > 0) fit(widths, columns_, width);
  std::string text;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      line += "  " + padded(shortened(cell_of(c), widths[c]), widths[c], columns_[c].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line([&](std::size_t c) { return columns_[c].title; });
  for (const auto& row : rows_) add_line([&](std::size_t c) { return row[c]; });
  return text;
}

std::string wrapped(const std::string& text, std::size_t width, std::size_t indent) {
  std::string result;
  std::size_t column = indent;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" ,|", at), text.size() - 1) + 1;
    std::string piece = text.substr(at, end - at);
    const std::size_t visible = width_of(piece) - (piece.back() == ' ' ? 1 : 0);
    if (column > indent && column + visible > width) {
      if (result.back() == ' ') result.pop_back();
      result += "\n" + std::string(indent, ' ');
      column = indent;
    }
    result += piece;
    column += width_of(piece);
    at = end;
  }
  return result;
}

std::string format_ns(double ns) {
  constexpr Unit kUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
  return format_unit(ns, kUnits);
}

std::string format_flops(double flops) {
  constexpr Unit kUnits[] = {{1e9, "GFLOPs"}, {1e6, "MFLOPs"}, {1e3, "kFLOPs"}};
  if (flops < 1e3) return fmt::format("{:.0f} FLOPs", flops);
  return format_unit(flops, kUnits);
}

std::string format_bytes(double bytes) {
  constexpr Unit kUnits[] = {{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}};
  if (bytes < 1e3) return fmt::format("{:.0f} B", bytes);
  return format_unit(bytes, kUnits);
}

}  // namespace inlay
