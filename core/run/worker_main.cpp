// inlay-worker: started by WorkerClient, never by hand.
#include <fcntl.h>

#include <cstdio>

#include "core/run/worker.h"
#include "core/run/worker_json.h"

int main() {
  if (::fcntl(inlay::kWorkerSocket, F_GETFD) < 0) {
    std::fputs("inlay-worker: started by other programs of Inlay, not by hand\n", stderr);
    return 2;
  }
  return inlay::run_worker(inlay::kWorkerSocket);
}
