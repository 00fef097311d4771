// Runs checks, each in a process of its own (inlay-check-worker): what crashes or hangs there is a
// result here.
//
//   const std::vector<Verdict> verdicts = run_checks(plugin, all, {.timeout = 60s});
//   for (const Verdict& verdict : verdicts) if (!verdict.is_ok()) ...
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "search/check/check.h"

namespace inlay::check {

enum class Status {
  kPass,
  kFail,
  kSkip,
  kCrash,
  kHang,
  kXfail,  // fails as the plugin's manifest says it does
};
std::string_view name_of(Status status);  // "pass"

struct Verdict {
  const Check* check = nullptr;
  Status status = Status::kPass;
  std::string found;     // what was expected and what was found; why it was skipped
  std::string declared;  // the manifest's reason, of an expected failure
  bool is_declared_skip = false;
  std::chrono::milliseconds time{0};

  // A pass, a failure that the plugin expects, or a skip that it declares.
  bool is_ok() const {
    return status == Status::kPass || status == Status::kXfail ||
           (status == Status::kSkip && is_declared_skip);
  }
};

struct CheckOptions {
  std::filesystem::path worker;     // inlay-check-worker; empty: beside the running program
  std::filesystem::path reference;  // the reference plugin's file; empty: none
  std::chrono::milliseconds timeout{60000};
  // Called as each verdict is there; may be empty.
  std::function<void(const Verdict&)> progress;
  int parallel = 1;
  std::vector<std::string> environment;  // "NAME=value", added to the processes'
};

// `plugin` is a file. Verdicts are in the order of `checks`. A check that the manifest expects to
// fail and that passes is a failure.
// throws  Error{kNotFound} if there is no worker; Error{kIo} if it cannot be started
std::vector<Verdict> run_checks(const std::filesystem::path& plugin,
                                const std::vector<const Check*>& checks,
                                const CheckOptions& options);

}  // namespace inlay::check
