// The kit against a plugin that is right, and against one that is wrong in one way for each check.
#include <elf.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/file.h"
#include "search/check/supervise.h"

namespace inlay::check {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(INLAY_BINARY_DIR) / "conformance";

CheckOptions options_for(int mutant, int parallel) {
  CheckOptions options;
  options.worker = fs::path(INLAY_BINARY_DIR) / "bin" / "inlay-check-worker";
  options.reference = fs::path(INLAY_PLUGIN_DIR) / "reference.so";
  options.timeout = std::chrono::seconds(60);
  options.parallel = parallel;
  if (mutant != 0) options.environment = {"INLAY_MUTANT=" + std::to_string(mutant)};
  return options;
}

std::vector<const Check*> checks_of(const std::function<bool(const Check&)>& wanted) {
  std::vector<const Check*> list;
  for (const Check& check : all_checks()) {
    if (wanted(check)) list.push_back(&check);
  }
  return list;
}

// A copy of the sample with `from` in its file replaced by `to`, which is as long.
fs::path changed_copy(const std::string& name, const std::string& from, const std::string& to) {
  std::string bytes = read_text(kFolder / "sample.so");
  const std::size_t at = bytes.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  EXPECT_EQ(from.size(), to.size());
  bytes.replace(at, from.size(), to);
  write_file(name, bytes);
  return fs::absolute(name);
}

// A copy whose manifest's section can be written.
fs::path writable_section_copy(const std::string& name) {
  std::string bytes = read_text(kFolder / "sample.so");
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  for (int i = 0; i < header.e_shnum; ++i) {
    const std::size_t at = header.e_shoff + static_cast<std::size_t>(i) * sizeof(Elf64_Shdr);
    Elf64_Shdr section;
    std::memcpy(&section, &bytes[at], sizeof(section));
    Elf64_Shdr names;
    std::memcpy(&names, &bytes[header.e_shoff + header.e_shstrndx * sizeof(Elf64_Shdr)],
                sizeof(names));
    if (std::string(&bytes[names.sh_offset + section.sh_name]) != ".inlay.manifest") continue;
    section.sh_flags |= SHF_WRITE;
    std::memcpy(&bytes[at], &section, sizeof(section));
  }
  write_file(name, bytes);
  return fs::absolute(name);
}

fs::path open_copy(const std::string& name) {
  fs::copy_file(kFolder / "sample.so", name, fs::copy_options::overwrite_existing);
  fs::permissions(name, fs::perms::others_write, fs::perm_options::add);
  return fs::absolute(name);
}

// The library in which the fault that this check finds is.
fs::path mutant_file(int check) {
  const fs::path linked = kFolder / ("mutant" + std::to_string(check) + ".so");
  if (fs::exists(linked)) return linked;
  if (check == 3) return changed_copy("mutant3.so", "\"xfaix\"", "\"xfail\"");
  if (check == 4) return writable_section_copy("mutant4.so");
  if (check == 5) return changed_copy("mutant5.so", "\"sse4.2\"", "\"sse9.9\"");
  if (check == 8) return open_copy("mutant8.so");
  return kFolder / "sample.so";
}

std::string describe(const Verdict& verdict) {
  return std::to_string(verdict.check->id) + " " + std::string(verdict.check->name) + ": " +
         std::string(name_of(verdict.status)) + " " + verdict.found;
}

// Every mutant's checks, two processes at a time: that of the fault and the others that `wanted`
// says.
template <typename Wanted>
void expect_found(const Wanted& wanted) {
  // Faults that another check must see too, since what is wrong for one is wrong for it.
  const std::map<int, std::set<int>> also = {
      {37, {51}},  // other bits in a second run are other bits beside others too
  };
  std::vector<const Check*> mutants = checks_of([](const Check&) { return true; });
  std::mutex mutex;
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < mutants.size(); i = next++) {
      const Check& broken = *mutants[i];
      fs::path file;
      {
        const std::lock_guard lock(mutex);
        file = mutant_file(broken.id);
      }
      const std::vector<const Check*> checks =
          checks_of([&](const Check& check) { return wanted(broken, check); });
      for (const Verdict& verdict : run_checks(file, checks, options_for(broken.id, 1))) {
        const std::lock_guard lock(mutex);
        const auto known = also.find(broken.id);
        const bool is_known = known != also.end() && known->second.count(verdict.check->id) != 0;
        if (verdict.check == &broken) {
          EXPECT_FALSE(verdict.is_ok())
              << "mutant " << broken.id << " passes " << describe(verdict);
          EXPECT_NE(verdict.status, Status::kSkip) << describe(verdict);
          EXPECT_FALSE(verdict.found.empty());
        } else if (!is_known) {
          EXPECT_TRUE(verdict.is_ok()) << "mutant " << broken.id << ": " << describe(verdict);
        }
      }
    }
  };
  std::thread other(work);
  work();
  other.join();
}

TEST(Conformance, SamplePassesEveryCheckAndSkipsNone) {
  const std::vector<const Check*> all = checks_of([](const Check&) { return true; });
  for (const Verdict& verdict : run_checks(kFolder / "sample.so", all, options_for(0, 2))) {
    EXPECT_EQ(verdict.status, Status::kPass) << describe(verdict);
  }
}

TEST(Conformance, EachMutantFailsItsCheckAndPassesTheOthersOfTheFamily) {
  expect_found(
      [](const Check& broken, const Check& check) { return broken.family == check.family; });
}

// Long: run by an entry of its own in CMakeLists.txt.
TEST(Conformance, DISABLED_EachMutantFailsItsCheckAndPassesAllOthers) {
  expect_found([](const Check&, const Check&) { return true; });
}

TEST(Conformance, DeclaredFailureThatFailsIsFine) {
  const fs::path plugin =
      changed_copy("declared.so", "\"xfaix\":{\"999\":\"none\"}", "\"xfail\":{\"25\" :\"none\"}");
  const Verdict verdict = run_checks(plugin, {find_check("25")}, options_for(25, 1)).at(0);
  EXPECT_EQ(verdict.status, Status::kXfail) << describe(verdict);
  EXPECT_TRUE(verdict.is_ok());
  EXPECT_EQ(verdict.declared, "none");
}

TEST(Conformance, DeclaredFailureThatPassesIsAFailure) {
  const fs::path plugin =
      changed_copy("declared.so", "\"xfaix\":{\"999\":\"none\"}", "\"xfail\":{\"25\" :\"none\"}");
  const Verdict verdict = run_checks(plugin, {find_check("25")}, options_for(0, 1)).at(0);
  EXPECT_EQ(verdict.status, Status::kFail);
  EXPECT_NE(verdict.found.find("expected to fail but passes"), std::string::npos) << verdict.found;
}

TEST(Conformance, NoAnswerInTimeIsAHang) {
  CheckOptions options = options_for(49, 1);
  options.timeout = std::chrono::milliseconds(300);  // of the five seconds that the check waits
  const Verdict verdict = run_checks(kFolder / "sample.so", {find_check("49")}, options).at(0);
  EXPECT_EQ(verdict.status, Status::kHang) << describe(verdict);
  EXPECT_NE(verdict.found.find("cancelled work"), std::string::npos) << verdict.found;
}

TEST(Conformance, CrashSaysWhatWasBeingDone) {
  const Verdict verdict =
      run_checks(kFolder / "sample.so", {find_check("38")}, options_for(38, 1)).at(0);
  EXPECT_EQ(verdict.status, Status::kCrash);
  EXPECT_NE(verdict.found.find("signal 11"), std::string::npos) << verdict.found;
  EXPECT_NE(verdict.found.find("in memory that ends with its tensors"), std::string::npos)
      << verdict.found;
}

TEST(Conformance, SkipThatIsNotDeclaredIsNoSuccess) {
  CheckOptions options = options_for(0, 1);
  options.reference.clear();
  const Verdict verdict = run_checks(kFolder / "sample.so", {find_check("31")}, options).at(0);
  EXPECT_EQ(verdict.status, Status::kSkip) << describe(verdict);
  EXPECT_FALSE(verdict.is_ok());
}

TEST(Conformance, NumbersAndNamesOfChecksAreUnique) {
  std::set<int> ids;
  std::set<std::string_view> names;
  for (const Check& check : all_checks()) {
    EXPECT_TRUE(ids.insert(check.id).second) << check.id;
    EXPECT_TRUE(names.insert(check.name).second) << check.name;
    EXPECT_EQ(find_check(std::to_string(check.id)), &check);
    EXPECT_EQ(find_check(check.name), &check);
    EXPECT_FALSE(check.what.empty() || check.why.empty() || check.fix.empty()) << check.name;
  }
  for (int id = 1; id <= 59; ++id) EXPECT_EQ(ids.count(id), 1U) << id;
}

// What `inlay` writes to standard output, and its exit status.
std::pair<std::string, int> run_inlay(const std::string& environment,
                                      const std::string& arguments) {
  const std::string command =
      environment + " " + INLAY_BINARY_DIR + "/bin/inlay check " + arguments + " 2>/dev/null";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  std::string text;
  char bytes[4096];
  for (std::size_t got = 0; (got = std::fread(bytes, 1, sizeof(bytes), pipe)) > 0;) {
    text.append(bytes, got);
  }
  return {text, WEXITSTATUS(::pclose(pipe))};
}

TEST(Conformance, CommandPrintsWhatWhyFixAndHowToRepeatIt) {
  const std::string plugin = (kFolder / "sample.so").string();
  const auto [json_text, status] = run_inlay("INLAY_MUTANT=25", plugin + " --only 25,10 --json");
  EXPECT_EQ(status, 1);
  const nlohmann::json report = nlohmann::json::parse(json_text);
  ASSERT_EQ(report.size(), 1U);
  EXPECT_EQ(report[0]["ok"], false);
  const nlohmann::json& failed = report[0]["checks"].at(0);
  EXPECT_EQ(failed["name"], "unknown-option");
  EXPECT_EQ(failed["status"], "fail");
  EXPECT_EQ(failed["rerun"], "inlay check " + plugin + " --only 25");
  for (const char* key : {"found", "what", "why", "fix"}) EXPECT_TRUE(failed.contains(key)) << key;
  EXPECT_EQ(report[0]["checks"].at(1)["status"], "pass");

  const auto [table, table_status] =
      run_inlay("INLAY_MUTANT=25", plugin + " --only unknown-option");
  EXPECT_EQ(table_status, 1);
  for (const char* part : {"fail 25 unknown-option", "what", "why", "fix", "--only 25"}) {
    EXPECT_NE(table.find(part), std::string::npos) << part << " in:\n" << table;
  }
}

TEST(Conformance, CommandSucceedsWhereEveryCheckDoes) {
  const auto [text, status] = run_inlay("", (kFolder / "sample.so").string() + " --only 1,9,31");
  EXPECT_EQ(status, 0) << text;
  EXPECT_NE(text.find("sample.so: 3 pass"), std::string::npos) << text;
}

TEST(Conformance, CommandRefusesACheckThatIsNone) {
  EXPECT_EQ(run_inlay("", (kFolder / "sample.so").string() + " --only 999").second, 1);
}

TEST(Conformance, GuideListsEveryCheck) {
  const std::string guide = read_text(fs::path(INLAY_SOURCE_DIR) / "docs" / "conformance.md");
  for (const Check& check : all_checks()) {
    const std::string row = "| " + std::to_string(check.id) + " | " + std::string(check.name) +
                            " | " + std::string(name_of(check.family)) + " | " +
                            std::string(check.what) + " |";
    EXPECT_NE(guide.find(row), std::string::npos) << "expected in docs/conformance.md: " << row;
  }
}

}  // namespace
}  // namespace inlay::check
