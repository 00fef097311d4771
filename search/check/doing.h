// What a check is about to do, for whoever finds its process dead.
//
//   doing("compile of {}", describe(sample));
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

namespace inlay::check {

// Writes it to the kit, if this is one of its processes. The last one counts.
void report_doing(const std::string& what);

template <typename... Args>
void doing(fmt::format_string<Args...> text, Args&&... args) {
  report_doing(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace inlay::check
