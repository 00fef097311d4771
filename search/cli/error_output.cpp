#include "search/cli/error_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "search/cli/printable.h"

namespace inlay::cli {

int report_error(std::string_view program, std::string_view code, std::string_view message,
                 int status, bool is_json) {
  const std::string line = printable(message);
  fmt::print(stderr, "{}: error: {}\n", program, line);
  if (is_json) {
    fmt::print("{}\n",
               json_text({{"error",
                           {{"code", std::string(code)}, {"message", line}, {"status", status}}}}));
    std::fflush(stdout);
  }
  return status;
}

bool asks_for_json(int argc, const char* const* argv) {
  return std::any_of(argv, argv + argc,
                     [](std::string_view argument) { return argument == "--json"; });
}

}  // namespace inlay::cli
