// One worker process, from start to end. Private to core/run; see worker_client.h.
//
//   WorkerProcess process("/usr/lib/inlay/inlay-worker", {.show_output = false});
//   send_message(process.socket(), ...);
//   const ExitState end = process.wait();
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/run/message.h"

namespace inlay {

struct ExitState {
  int signal = 0;  // 0 if it exited
  int exit_status = 0;
};

// How long each thread was ready to run while others had the processors.
using QueueTimes = std::map<std::string, std::chrono::nanoseconds>;  // by the thread's number

class WorkerProcess {
 public:
  // throws  Error{kIo} if it cannot be started
  WorkerProcess(const std::filesystem::path& executable, bool show_output);
  ~WorkerProcess();  // closes the socket, which ends a worker that waits for a request; kills one
                     // that does not end
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  int socket() const { return socket_.get(); }
  pid_t pid() const { return pid_; }
  const std::filesystem::path& executable() const { return executable_; }

  QueueTimes queue_times() const;  // empty where the system does not tell
  // Of all threads, the longest time since `before`.
  std::chrono::nanoseconds longest_queued_since(const QueueTimes& before) const;
  bool is_stopped() const;  // by SIGSTOP, a debugger, or a disk that does not answer

  void kill();  // and waits
  // For a worker that closed its end: how it ended. One that lingers is killed.
  ExitState wait();

 private:
  std::vector<std::filesystem::path> threads() const;
  bool wait_until(std::chrono::steady_clock::time_point deadline);

  std::filesystem::path executable_;
  Descriptor socket_;
  pid_t pid_ = -1;
  bool is_over_ = false;
  int status_ = 0;
};

}  // namespace inlay
