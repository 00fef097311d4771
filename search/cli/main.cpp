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
#include "search/cli/error_output.h"
#include "search/cli/parse_error.h"
#include "search/cli/session.h"

namespace {

constexpr std::size_t kHelpColumn = 28;  // where the help texts begin

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
      inlay::cli::add_devices,    inlay::cli::add_plugins, inlay::cli::add_zoo,
      inlay::cli::add_import,     inlay::cli::add_place,   inlay::cli::add_run,
      inlay::cli::add_explain,    inlay::cli::add_bundle,  inlay::cli::add_db,
      inlay::cli::add_new_plugin, inlay::cli::add_match,   inlay::cli::add_check,
      inlay::cli::add_doctor};
  for (const AddCommand add : kCommands) add(app, common);

  using inlay::Code;
  using inlay::cli::kExitError;
  const auto fail = [&](std::string_view code, std::string_view what, int status) {
    return inlay::cli::report_error("inlay", code, what, status, common.json);
  };
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    common.json = inlay::cli::asks_for_json(argc, argv);
    return fail(inlay::cli::kUsageCode, inlay::cli::explain_parse_error(app, argc, argv, e),
                inlay::cli::kExitUsage);
  }
  try {
    const int status = common.run();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      common.json = false;  // there is nowhere to write it
      return fail(code_name(Code::kIo),
                  fmt::format("standard output: cannot write: {}", std::strerror(errno)),
                  kExitError);
    }
    return status;
  } catch (const inlay::Error& e) {
    return fail(code_name(e.code()), e.what(),
                e.code() == Code::kCancelled ? inlay::cli::interrupted_status() : kExitError);
  } catch (const std::bad_alloc&) {
    return fail(code_name(Code::kNoMemory), "out of memory", kExitError);
  } catch (const std::exception& e) {
    return fail(code_name(Code::kInternal), e.what(), kExitError);
  }
}
