#include <cpuid.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "core/host/manifest.h"

namespace inlay {
namespace {

enum Register { kEax, kEbx, kEcx, kEdx };

// Which registers the operating system must save for a feature's instructions: bits of XCR0.
constexpr std::uint64_t kNoState = 0;
constexpr std::uint64_t kAvxState = 0x6;      // SSE, upper halves of YMM
constexpr std::uint64_t kAvx512State = 0xE6;  // and masks, upper halves of ZMM, ZMM16 to 31
constexpr std::uint64_t kAmxState = 0x60000;  // TILECFG, TILEDATA

struct Feature {
  std::string_view name;
  unsigned leaf;
  unsigned subleaf;
  Register where;
  unsigned bit;
  std::uint64_t state;
};

// source  Intel SDM volume 2A, CPUID; volume 1, chapter 13 (XCR0)
constexpr Feature kFeatures[] = {
    {"sse3", 1, 0, kEcx, 0, kNoState},
    {"ssse3", 1, 0, kEcx, 9, kNoState},
    {"sse4.1", 1, 0, kEcx, 19, kNoState},
    {"sse4.2", 1, 0, kEcx, 20, kNoState},
    {"popcnt", 1, 0, kEcx, 23, kNoState},
    {"avx", 1, 0, kEcx, 28, kAvxState},
    {"fma", 1, 0, kEcx, 12, kAvxState},
    {"f16c", 1, 0, kEcx, 29, kAvxState},
    {"avx2", 7, 0, kEbx, 5, kAvxState},
    {"bmi1", 7, 0, kEbx, 3, kNoState},
    {"bmi2", 7, 0, kEbx, 8, kNoState},
    {"avx_vnni", 7, 1, kEax, 4, kAvxState},
    {"avx512f", 7, 0, kEbx, 16, kAvx512State},
    {"avx512dq", 7, 0, kEbx, 17, kAvx512State},
    {"avx512ifma", 7, 0, kEbx, 21, kAvx512State},
    {"avx512cd", 7, 0, kEbx, 28, kAvx512State},
    {"avx512bw", 7, 0, kEbx, 30, kAvx512State},
    {"avx512vl", 7, 0, kEbx, 31, kAvx512State},
    {"avx512_vbmi", 7, 0, kEcx, 1, kAvx512State},
    {"avx512_vbmi2", 7, 0, kEcx, 6, kAvx512State},
    {"avx512_vnni", 7, 0, kEcx, 11, kAvx512State},
    {"avx512_bitalg", 7, 0, kEcx, 12, kAvx512State},
    {"avx512_vpopcntdq", 7, 0, kEcx, 14, kAvx512State},
    {"avx512_fp16", 7, 0, kEdx, 23, kAvx512State},
    {"avx512_bf16", 7, 1, kEax, 5, kAvx512State},
    {"amx_bf16", 7, 0, kEdx, 22, kAmxState},
    {"amx_tile", 7, 0, kEdx, 24, kAmxState},
    {"amx_int8", 7, 0, kEdx, 25, kAmxState},
};

// 0 where the operating system has not enabled XGETBV.
std::uint64_t saved_states() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned kOsxsave = 1u << 27;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & kOsxsave) == 0) return 0;
  std::uint32_t low = 0, high = 0;
  // The intrinsic would need the whole file compiled for XSAVE.
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

}  // namespace

bool has_cpu_feature(const std::string& name) {
  for (const Feature& feature : kFeatures) {
    if (feature.name != name) continue;
    std::array<unsigned, 4> registers{};
    if (feature.subleaf > 0) {
      // A CPU with fewer subleaves may answer with anything.
      unsigned last = 0, ebx = 0, ecx = 0, edx = 0;
      if (__get_cpuid_count(feature.leaf, 0, &last, &ebx, &ecx, &edx) == 0) return false;
      if (feature.subleaf > last) return false;
    }
    if (__get_cpuid_count(feature.leaf, feature.subleaf, &registers[kEax], &registers[kEbx],
                          &registers[kEcx], &registers[kEdx]) == 0) {
      return false;
    }
    return ((registers[feature.where] >> feature.bit) & 1u) != 0 &&
           (saved_states() & feature.state) == feature.state;
  }
  return false;
}

}  // namespace inlay
