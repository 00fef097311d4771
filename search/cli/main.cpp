// The inlay program: parses the command line, runs one subcommand, turns errors into one line and
// an exit status.
#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>

#include "core/base/error.h"
#include "search/cli/command.h"
#include "search/cli/printable.h"
#include "search/cli/session.h"

namespace {

constexpr int kExitError = 1;
constexpr int kExitUsage = 2;
constexpr std::size_t kHelpColumn = 28;  // where the help texts begin

int fail(std::string_view what, int status) {
  fmt::print(stderr, "inlay: error: {}\n", inlay::cli::printable(what));
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  // A limit on file sizes is then an error of write like any other.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app(
      "Places ONNX models on backends: imports, measures, searches, proves, runs.\n"
      "inlay COMMAND --help tells more of each command.",
      "inlay");
  app.get_formatter()->column_width(kHelpColumn);
  app.set_version_flag("--version", INLAY_VERSION, "Print the version and exit");
  app.require_subcommand(1);
  inlay::cli::Common common;
  app.add_flag("--verbose,-v", common.verbose, "Log what happens to standard error");
  using AddCommand = void (*)(CLI::App&, inlay::cli::Common&);
  constexpr AddCommand kCommands[] = {
      inlay::cli::add_devices, inlay::cli::add_plugins, inlay::cli::add_zoo,
      inlay::cli::add_import,  inlay::cli::add_place,   inlay::cli::add_run,
      inlay::cli::add_explain, inlay::cli::add_bundle,  inlay::cli::add_db,
      inlay::cli::add_new_plugin, inlay::cli::add_match,   inlay::cli::add_doctor};
  for (const AddCommand add : kCommands) add(app, common);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    return fail(fmt::format("{} (--help lists what there is)", e.what()), kExitUsage);
  }
  try {
    const int status = common.run();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      return fail(fmt::format("standard output: cannot write: {}", std::strerror(errno)),
                  kExitError);
    }
    return status;
  } catch (const inlay::Error& e) {
    return fail(e.what(), e.code() == inlay::Code::kCancelled ? inlay::cli::interrupted_status()
                                                              : kExitError);
  } catch (const std::bad_alloc&) {
    return fail("out of memory", kExitError);
  } catch (const std::exception& e) {
    return fail(e.what(), kExitError);
  }
}
