// inlay-check-worker: started by the kit (supervise.h), once for each check.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/error.h"
#include "search/check/check.h"
#include "search/check/subject.h"
#include "search/check/verdict.h"
#include "search/check/worker_protocol.h"

namespace {

using inlay::check::kVerdictDescriptor;

void write_verdict(const char* status, const std::string& found, bool is_declared) {
  inlay::check::write_line({{"status", status}, {"found", found}, {"declared", is_declared}});
}

void run(const inlay::check::Check& check, inlay::check::Subject& subject) {
  try {
    check.run(subject);
    write_verdict("pass", "", false);
  } catch (const inlay::check::Failure& failure) {
    write_verdict("fail", failure.what(), false);
  } catch (const inlay::check::Skipped& skipped) {
    write_verdict("skip", skipped.what(), skipped.is_declared);
  } catch (const std::exception& exception) {
    write_verdict("fail", exception.what(), false);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 || ::fcntl(kVerdictDescriptor, F_GETFD) < 0) {
    std::fputs("inlay-check-worker: started by inlay check, not by hand\n", stderr);
    return 2;
  }
  const inlay::check::Check* check = inlay::check::find_check(argv[3]);
  if (check == nullptr) return 2;
  auto subject = std::make_unique<inlay::check::Subject>(
      inlay::check::SubjectOptions{.plugin = argv[1], .reference = argv[2]});
  run(*check, *subject);
  if (check->name != "clean-exit") ::_exit(0);  // how a process ends is asked by that check alone
  subject.reset();
  return 0;
}
