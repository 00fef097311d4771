// Seeds as they are typed.
//
//   add_option("--seed", seed)->check(CLI::Validator(check_seed, ""));
#pragma once

#include <string>

namespace inlay::cli {

// A sign would make another number of it. "", or what was expected and found.
std::string check_seed(const std::string& text);

}  // namespace inlay::cli
