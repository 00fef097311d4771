#include "search/cli/printable.h"

#include <fmt/format.h>

#include <iterator>

namespace inlay::cli {

std::string printable(std::string_view text) {
  constexpr unsigned char kFirstGraphic = 0x20;
  constexpr unsigned char kDelete = 0x7f;
  const std::size_t last = text.find_last_not_of(" \n\r");
  text = text.substr(0, last == std::string_view::npos ? 0 : last + 1);
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '\n') {
      line += line.ends_with(':') ? " " : "; ";
      while (i + 1 < text.size() && (text[i + 1] == ' ' || text[i + 1] == '\n')) ++i;
    } else if (c < kFirstGraphic || c == kDelete) {
      fmt::format_to(std::back_inserter(line), "\\x{:02x}", c);
    } else {
      line += text[i];
    }
  }
  return line;
}

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace inlay::cli
