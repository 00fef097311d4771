#include "search/check/supervise.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/host/elf_file.h"
#include "core/run/message.h"
#include "search/check/declared_failures.h"
#include "search/check/worker_protocol.h"

namespace inlay::check {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

fs::path find_check_worker(const fs::path& given) {
  fs::path worker = given;
  if (worker.empty()) {
    std::error_code code;
    worker = fs::read_symlink("/proc/self/exe", code).parent_path() / "inlay-check-worker";
  }
  std::error_code code;
  if (!fs::exists(worker, code)) {
    throw Error(Code::kNotFound,
                fmt::format("{}: the program that runs checks is missing", worker.string()));
  }
  return worker;
}

// What the manifest expects; nothing where it cannot be read, which checks 3 and 4 tell.
std::map<int, std::string> expected_failures(const fs::path& plugin) {
  try {
    const MappedFile mapped = map_file(plugin);
    const auto section = ElfFile(mapped.bytes(), plugin.string()).section(".inlay.manifest");
    if (!section) return {};
    std::string_view text(reinterpret_cast<const char*>(section->data()), section->size());
    while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
    return declared_failures(Json::parse(text));
  } catch (const Error&) {
    return {};
  } catch (const Json::exception&) {
    return {};
  }
}

struct Ended {
  bool has_hung = false;
  int status = 0;      // of waitpid
  std::string lines;   // what it reported
  std::string errors;  // the end of what it wrote to standard error
};

std::string tail_of(int file) {
  constexpr off_t kMost = 400;
  const off_t size = ::lseek(file, 0, SEEK_END);
  std::string text(static_cast<std::size_t>(std::clamp<off_t>(size, 0, kMost)), '\0');
  const ssize_t got = ::pread(file, text.data(), text.size(), std::max<off_t>(size - kMost, 0));
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// proc(5): the state follows the name, which is in brackets and may itself hold some; T: stopped.
bool is_stopped(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const std::size_t state = line.rfind(')') + 2;
  return state < line.size() && (line[state] == 'T' || line[state] == 't');
}

// Time that passes while this process and the worker run: who is stopped from outside, or on a
// machine that is held up, does not hang for that.
class Patience {
 public:
  Patience(pid_t pid, std::chrono::milliseconds time) : pid_(pid), left_(time) {}
  bool is_over() const { return left_.count() <= 0; }
  // To be called every kSlice or so.
  void tick() {
    const Clock::time_point now = Clock::now();
    const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(now - last_);
    if (passed.count() < 1) return;
    if (passed < kSlice || !is_stopped(pid_)) left_ -= std::min(passed, kMost);
    last_ = now;
  }
  static constexpr std::chrono::milliseconds kSlice{100};

 private:
  static constexpr std::chrono::milliseconds kMost{400};
  pid_t pid_;
  std::chrono::milliseconds left_;
  Clock::time_point last_ = Clock::now();
};

// Reads until the other end closes; false if patience ends first.
bool read_all(int file, Patience* patience, std::string* out) {
  while (true) {
    patience->tick();
    if (patience->is_over()) return false;
    pollfd waiting{file, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(Patience::kSlice.count()));
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    char bytes[4096];
    const ssize_t got = ::read(file, bytes, sizeof(bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    out->append(bytes, static_cast<std::size_t>(got));
  }
}

// Waits for the process; false if patience ends first.
bool reap(pid_t pid, Patience* patience, int* status) {
  while (true) {
    const pid_t ended = ::waitpid(pid, status, WNOHANG);
    if (ended == pid || (ended < 0 && errno == ECHILD)) return true;
    patience->tick();
    if (patience->is_over()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

Ended run_worker(const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment, std::chrono::milliseconds timeout) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(Code::kIo, fmt::format("pipe: {}", std::strerror(errno)));
  }
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  const Descriptor errors(::memfd_create("check", MFD_CLOEXEC));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, writing.get(), kVerdictDescriptor);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, errors.get(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (const std::string& variable : environment)
    envp.push_back(const_cast<char*>(variable.c_str()));
  for (char** variable = environ; *variable != nullptr; ++variable) envp.push_back(*variable);
  envp.push_back(nullptr);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    throw Error(Code::kIo, fmt::format("{}: cannot be started: {}", argv[0], std::strerror(error)));
  }
  writing = Descriptor();
  Ended ended;
  Patience patience(pid, timeout);
  if (!read_all(reading.get(), &patience, &ended.lines) || !reap(pid, &patience, &ended.status)) {
    ended.has_hung = true;
    ::kill(-pid, SIGKILL);
    ::kill(pid, SIGKILL);
    while (::waitpid(pid, &ended.status, 0) < 0 && errno == EINTR) {
    }
  }
  ended.errors = tail_of(errors.get());
  return ended;
}

std::string describe_end(const Ended& ended) {
  const std::string how = WIFSIGNALED(ended.status)
                              ? fmt::format("ended by signal {} ({})", WTERMSIG(ended.status),
                                            strsignal(WTERMSIG(ended.status)))
                              : fmt::format("ended with exit status {}", WEXITSTATUS(ended.status));
  return ended.errors.empty() ? how : fmt::format("{}: {}", how, ended.errors);
}

std::string when(bool is_done, const std::string& doing) {
  if (is_done) return ", after the check was done";
  return doing.empty() ? "" : fmt::format(", at: {}", doing);
}

// The verdict, null if there is none, and what was being done before.
std::pair<Json, std::string> last_lines(std::string_view lines) {
  Json verdict;
  std::string doing;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const Json line = Json::parse(lines.substr(0, end), nullptr, /*allow_exceptions=*/false);
    if (line.is_object() && line.contains("status")) verdict = line;
    if (line.is_object() && line.contains("doing")) doing = line.value("doing", "");
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return {verdict, doing};
}

Verdict verdict_of(const Check& check, const Ended& ended, std::chrono::milliseconds timeout) {
  Verdict verdict;
  verdict.check = &check;
  const auto [line, doing] = last_lines(ended.lines);
  const bool has_line = line.is_object();
  if (ended.has_hung) {
    verdict.status = Status::kHang;
    verdict.found = fmt::format("no end within {:.0f} s{}",
                                static_cast<double>(timeout.count()) / 1e3, when(has_line, doing));
    return verdict;
  }
  const bool is_clean = WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 0;
  if (!has_line || !is_clean) {
    verdict.status = Status::kCrash;
    verdict.found = fmt::format("the process {}{}", describe_end(ended), when(has_line, doing));
    return verdict;
  }
  const std::string status = line.value("status", "fail");
  verdict.found = line.value("found", "");
  verdict.is_declared_skip = line.value("declared", false);
  verdict.status = status == "pass"   ? Status::kPass
                   : status == "skip" ? Status::kSkip
                                      : Status::kFail;
  return verdict;
}

void expect_failure(const std::map<int, std::string>& expected, Verdict* verdict) {
  const auto found = expected.find(verdict->check->id);
  if (found == expected.end()) return;
  verdict->declared = found->second;
  if (verdict->status == Status::kPass) {
    verdict->status = Status::kFail;
    verdict->found = fmt::format(
        "expected to fail but passes: take it out of the manifest's xfail (its reason was '{}')",
        found->second);
  } else if (verdict->status != Status::kSkip) {
    verdict->found = fmt::format("as declared ('{}'): {}", found->second, verdict->found);
    verdict->status = Status::kXfail;
  }
}

}  // namespace

std::string_view name_of(Status status) {
  constexpr std::string_view kNames[] = {"pass", "fail", "skip", "crash", "hang", "xfail"};
  return kNames[static_cast<int>(status)];
}

std::vector<Verdict> run_checks(const fs::path& plugin, const std::vector<const Check*>& checks,
                                const CheckOptions& options) {
  const fs::path worker = find_check_worker(options.worker);
  const std::map<int, std::string> expected = expected_failures(plugin);
  std::vector<Verdict> verdicts(checks.size());
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::string failure;
  const auto work = [&] {
    for (std::size_t i = next++; i < checks.size(); i = next++) {
      try {
        const Clock::time_point begin = Clock::now();
        const Ended ended = run_worker({worker.string(), plugin.string(),
                                        options.reference.string(), fmt::to_string(checks[i]->id)},
                                       options.environment, options.timeout);
        Verdict verdict = verdict_of(*checks[i], ended, options.timeout);
        verdict.time = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
        expect_failure(expected, &verdict);
        const std::lock_guard lock(mutex);
        verdicts[i] = verdict;
        if (options.progress) options.progress(verdict);
      } catch (const std::exception& exception) {
        const std::lock_guard lock(mutex);
        failure = exception.what();
        next = checks.size();
      }
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < options.parallel; ++i) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();
  if (!failure.empty()) throw Error(Code::kIo, failure);
  return verdicts;
}

}  // namespace inlay::check
