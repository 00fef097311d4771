#include "search/cli/printable.h"

namespace inlay::cli {

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace inlay::cli
