// What is wrong with a command line that did not parse, with what was most likely meant.
//
//   explain_parse_error(app, argc, argv, error) ==
//       "place: no flag '--remesure'; nearest: --remeasure (inlay place --help lists all)"
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace inlay::cli {

std::string explain_parse_error(const CLI::App& app, int argc, const char* const* argv,
                                const CLI::ParseError& error);

}  // namespace inlay::cli
