// The worker's side of worker_client.h: answers requests until the socket closes.
//
//   return run_worker(kWorkerSocket);
#pragma once

namespace inlay {

// returns  the exit status: 0 when the other side closed the socket, 1 if it broke the protocol
int run_worker(int socket);

}  // namespace inlay
