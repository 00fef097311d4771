#include "search/check/doing.h"

#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "search/check/worker_protocol.h"

namespace inlay::check {

void write_line(const nlohmann::json& line) {
  const std::string text =
      line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(kVerdictDescriptor, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;
    done += static_cast<std::size_t>(wrote);
  }
}

void report_doing(const std::string& what) { write_line({{"doing", what}}); }

}  // namespace inlay::check
