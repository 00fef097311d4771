// The host's services as the newest table, whatever the host's age: Host (core/sdk/kernel.h) calls
// every entry unasked.
//
//   static inlay_host host = complete_host(given);   // in init
#pragma once

#include <time.h>

#include <cstdint>

#include "core/abi/inlay_plugin.h"

namespace inlay::sdk {

// A copy of `host` in which whatever it lacks does the plain thing: no log, work inline, one
// thread.
inline inlay_host complete_host(const inlay_host* host) {
  inlay_host full{};
  full.struct_size = sizeof(inlay_host);
  full.abi_major = host->abi_major;
  full.abi_minor = host->abi_minor;
  full.context = INLAY_HAS(host, context) ? host->context : nullptr;
  full.log = [](void*, std::int32_t, const char*) {};
  full.parallel_for = [](void*, std::int64_t count, void (*body)(void*, std::int64_t),
                         void* argument) {
    for (std::int64_t i = 0; i < count; ++i) body(argument, i);
  };
  full.thread_cap = [](void*) -> std::int32_t { return 1; };
  full.now_ns = [](void*) -> std::int64_t {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
  };
  full.get_extension = [](void*, const char*) -> const void* { return nullptr; };
  if (INLAY_HAS(host, log) && host->log != nullptr) full.log = host->log;
  if (INLAY_HAS(host, parallel_for) && host->parallel_for != nullptr)
    full.parallel_for = host->parallel_for;
  if (INLAY_HAS(host, thread_cap) && host->thread_cap != nullptr)
    full.thread_cap = host->thread_cap;
  if (INLAY_HAS(host, now_ns) && host->now_ns != nullptr) full.now_ns = host->now_ns;
  if (INLAY_HAS(host, get_extension) && host->get_extension != nullptr)
    full.get_extension = host->get_extension;
  return full;
}

}  // namespace inlay::sdk
