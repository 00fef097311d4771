// Names the CPU a measurement was made on: its brand string and the instruction sets that kernels
// choose by.
//
//   cpu_fingerprint() == "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz; avx2 fma avx512f avx512_vnni"
#pragma once

#include <cpuid.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "core/abi/inlay_plugin.h"

namespace inlay::sdk {

// The 48 characters of CPUID leaves 0x80000002 to 0x80000004, outer blanks dropped; "unknown CPU"
// if there are none. source  Intel SDM volume 2A, CPUID, "Processor Brand String"
inline std::string cpu_brand() {
  unsigned words[12] = {};
  for (unsigned i = 0; i < 3; ++i) {
    unsigned* part = words + 4 * i;
    if (__get_cpuid(0x80000002u + i, &part[0], &part[1], &part[2], &part[3]) == 0)
      return "unknown CPU";
  }
  char text[sizeof(words) + 1] = {};
  std::memcpy(text, words, sizeof(words));
  const std::string brand = text;
  const std::size_t first = brand.find_first_not_of(' ');
  if (first == std::string::npos) return "unknown CPU";
  return brand.substr(first, brand.find_last_not_of(' ') - first + 1);
}

inline std::string cpu_fingerprint() {
  // The compiler's run-time library also asks the operating system which registers it saves.
  std::string isa;
  if (__builtin_cpu_supports("sse4.2")) isa += " sse4.2";
  if (__builtin_cpu_supports("avx2")) isa += " avx2";
  if (__builtin_cpu_supports("fma")) isa += " fma";
  if (__builtin_cpu_supports("avx512f")) isa += " avx512f";
  if (__builtin_cpu_supports("avx512bw")) isa += " avx512bw";
  if (__builtin_cpu_supports("avx512vnni")) isa += " avx512_vnni";
  if (__builtin_cpu_supports("avx512bf16")) isa += " avx512_bf16";
  return cpu_brand() + ";" + isa;
}

// Describes the CPU as a device in the space "host", as far as the caller's struct reaches.
inline void describe_cpu_device(inlay_device_info* out) {
  const std::string fingerprint = cpu_fingerprint();
  if (INLAY_HAS(out, name)) std::snprintf(out->name, sizeof(out->name), "cpu");
  if (INLAY_HAS(out, space)) std::snprintf(out->space, sizeof(out->space), "host");
  if (INLAY_HAS(out, fingerprint)) {
    std::snprintf(out->fingerprint, sizeof(out->fingerprint), "%s", fingerprint.c_str());
  }
  if (INLAY_HAS(out, clock)) out->clock = INLAY_CLOCK_WALL;
  if (INLAY_HAS(out, memory_bytes)) out->memory_bytes = 0;
}

}  // namespace inlay::sdk
