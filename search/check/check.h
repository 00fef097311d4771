// The conformance kit's checks: what each asks of a plugin, and how it is asked.
//
//   for (const check::Check& check : check::all_checks()) fmt::print("{} {}\n", check.id,
//   check.name); check::find_check("38")->run(subject);   // returns: passed; throws Failure or
//   Skipped
//
// A check runs in a process of its own (supervise.h), since it may crash or hang with the plugin.
// Its number and name stay what they are once released: manifests name them (`xfail`).
#pragma once

#include <span>
#include <string_view>

namespace inlay::check {

class Subject;

enum class Family {
  kStatic,
  kLoad,
  kErrors,
  kCapability,
  kNumbers,
  kArtefacts,
  kMemory,
  kAsync,
  kReports,
};
std::string_view name_of(Family family);  // "static"

struct Check {
  int id;
  std::string_view name;
  Family family;
  void (*run)(Subject& subject);
  std::string_view what;  // what a plugin that passes does
  std::string_view why;   // what goes wrong for users otherwise
  std::string_view fix;   // what an author whose plugin fails does
};

// By ascending id.
std::span<const Check> all_checks();

// By number or by name; null if there is none.
const Check* find_check(std::string_view id_or_name);

}  // namespace inlay::check
