// The inlay program: parses the command line, runs one subcommand, turns errors into one line and
// an exit status.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>

#include "core/base/error.h"
#include "search/cli/command.h"

namespace {

constexpr int kExitError = 1;
constexpr int kExitUsage = 2;
constexpr int kExitInterrupted = 130;

int fail(const char* what, int status) {
  fmt::print(stderr, "inlay: error: {}\n", what);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Places ONNX models on backends: imports, measures, searches, proves, runs.",
               "inlay");
  app.set_version_flag("--version", INLAY_VERSION);
  app.require_subcommand(1);
  inlay::cli::Common common;
  app.add_flag("--verbose,-v", common.verbose, "Log what happens to standard error");
  using AddCommand = void (*)(CLI::App&, inlay::cli::Common&);
  constexpr AddCommand kCommands[] = {inlay::cli::add_devices, inlay::cli::add_plugins,
                                      inlay::cli::add_zoo,     inlay::cli::add_import,
                                      inlay::cli::add_place,   inlay::cli::add_run,
                                      inlay::cli::add_explain, inlay::cli::add_bundle,
                                      inlay::cli::add_db};
  for (const AddCommand add : kCommands) add(app, common);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const int status = app.exit(e);
    return status == 0 ? 0 : kExitUsage;
  }
  try {
    return common.run();
  } catch (const inlay::Error& e) {
    return fail(e.what(), e.code() == inlay::Code::kCancelled ? kExitInterrupted : kExitError);
  } catch (const std::bad_alloc&) {
    return fail("out of memory", kExitError);
  } catch (const std::exception& e) {
    return fail(e.what(), kExitError);
  }
}
