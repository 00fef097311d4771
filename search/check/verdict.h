// How a check ends other than by passing.
//
//   require(status == INLAY_OK, "init: expected OK, found {}", name_of(status));
//   if (table.veto == nullptr) skip("the plugin has no veto");
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace inlay::check {

// The plugin does not do what the check asks: what() says what was expected and what was found.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The check does not concern the plugin.
struct Skipped : std::runtime_error {
  Skipped(const std::string& reason, bool declared)
      : std::runtime_error(reason), is_declared(declared) {}
  // The plugin says so itself, by its manifest or by leaving a table entry out. Otherwise it counts
  // as a failure: nobody knows whether the plugin does what the check asks.
  bool is_declared;
};

template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
  throw Failure(fmt::format(text, std::forward<Args>(args)...));
}

template <typename... Args>
void require(bool holds, fmt::format_string<Args...> text, Args&&... args) {
  if (!holds) throw Failure(fmt::format(text, std::forward<Args>(args)...));
}

// By the plugin's own declaration.
template <typename... Args>
[[noreturn]] void skip(fmt::format_string<Args...> text, Args&&... args) {
  throw Skipped(fmt::format(text, std::forward<Args>(args)...), /*declared=*/true);
}

template <typename... Args>
[[noreturn]] void skip_undeclared(fmt::format_string<Args...> text, Args&&... args) {
  throw Skipped(fmt::format(text, std::forward<Args>(args)...), /*declared=*/false);
}

}  // namespace inlay::check
