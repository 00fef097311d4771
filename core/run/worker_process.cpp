#include "core/run/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <thread>

#include "core/base/error.h"
#include "core/run/worker_json.h"

namespace inlay {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const std::filesystem::path& executable, int error) {
  throw Error(Code::kIo,
              fmt::format("{}: cannot be started: {}", executable.string(), std::strerror(error)));
}

// A process group of its own: a Ctrl-C at the terminal is for the program that started the worker,
// which must not take it for a crash of the plugin.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes_, 0);
  }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  posix_spawnattr_t* get() { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

}  // namespace

WorkerProcess::WorkerProcess(const std::filesystem::path& executable, bool show_output)
    : executable_(executable) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail(executable, errno);
  socket_ = Descriptor(ends[0]);
  const Descriptor workers_end(ends[1]);
  FileActions actions;
  posix_spawn_file_actions_adddup2(actions.get(), workers_end.get(), kWorkerSocket);
  if (!show_output) {
    posix_spawn_file_actions_addopen(actions.get(), STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(actions.get(), STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  std::string name = executable.string();
  char* const arguments[] = {name.data(), nullptr};
  SpawnAttributes attributes;
  const int error =
      ::posix_spawn(&pid_, executable.c_str(), actions.get(), attributes.get(), arguments, environ);
  if (error != 0) {
    pid_ = -1;
    fail(executable, error);
  }
}

WorkerProcess::~WorkerProcess() {
  if (is_over_) return;
  socket_ = Descriptor();
  constexpr std::chrono::seconds kPatience{1};
  if (!wait_until(Clock::now() + kPatience)) kill();
}

// proc(5): /proc/PID/task/TID/schedstat holds nanoseconds on a processor, nanoseconds in the run
// queue, and a count.
QueueTimes WorkerProcess::queue_times() const {
  QueueTimes times;
  for (const std::filesystem::path& thread : threads()) {
    std::ifstream file(thread / "schedstat");
    std::int64_t running_ns = 0;
    std::int64_t queued_ns = 0;
    if (file >> running_ns >> queued_ns) {
      times[thread.filename().string()] = std::chrono::nanoseconds(queued_ns);
    }
  }
  return times;
}

std::chrono::nanoseconds WorkerProcess::longest_queued_since(const QueueTimes& before) const {
  std::chrono::nanoseconds longest{0};
  for (const auto& [thread, time] : queue_times()) {
    const auto earlier = before.find(thread);
    longest = std::max(longest, earlier == before.end() ? time : time - earlier->second);
  }
  return longest;
}

// proc(5): the state follows the name, which is in brackets and may itself hold some. D: waits for
// a disk, T: stopped, t: stopped by a debugger.
bool WorkerProcess::is_stopped() const {
  for (const std::filesystem::path& thread : threads()) {
    std::ifstream file(thread / "stat");
    std::string line;
    std::getline(file, line);
    const std::size_t state = line.rfind(')') + 2;
    if (state < line.size() &&
        std::string_view("DTt").find(line[state]) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

// Their folders in /proc; empty if the process is over.
std::vector<std::filesystem::path> WorkerProcess::threads() const {
  std::vector<std::filesystem::path> folders;
  std::error_code code;
  std::filesystem::directory_iterator entry(fmt::format("/proc/{}/task", pid_), code);
  for (; !code && entry != std::filesystem::directory_iterator(); entry.increment(code)) {
    folders.push_back(entry->path());
  }
  return folders;
}

void WorkerProcess::kill() {
  if (is_over_) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  is_over_ = true;
}

ExitState WorkerProcess::wait() {
  constexpr std::chrono::seconds kPatience{5};  // writing a core file takes its time
  if (!wait_until(Clock::now() + kPatience)) kill();
  if (WIFSIGNALED(status_)) return {WTERMSIG(status_), 0};
  return {0, WEXITSTATUS(status_)};
}

bool WorkerProcess::wait_until(Clock::time_point deadline) {
  while (!is_over_) {
    const pid_t ended = ::waitpid(pid_, &status_, WNOHANG);
    if (ended == pid_ || (ended < 0 && errno == ECHILD)) {
      is_over_ = true;
    } else if (Clock::now() >= deadline) {
      return false;
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }
  return true;
}

}  // namespace inlay
