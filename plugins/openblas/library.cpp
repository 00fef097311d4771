#include "plugins/openblas/library.h"

#include <cblas.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <string>

// Exported by builds with run-time choice of kernels (DYNAMIC_ARCH); null in others.
extern "C" {
void gotoblas_dynamic_init() __attribute__((weak));
void gotoblas_dynamic_quit() __attribute__((weak));
}

namespace inlay::openblas {

namespace {

constexpr const char* kVariable = "OPENBLAS_CORETYPE";

// The set of kernels for this CPU's vector registers; null for those older than AVX2, which
// OpenBLAS knows.
const char* fitting_core() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return "SkylakeX";
  }
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? "Haswell" : nullptr;
}

bool uses_vectors_of_avx2(const std::string& core) {
  constexpr std::array<const char*, 5> kModern{"Haswell", "Zen", "SkylakeX", "Cooperlake",
                                               "SapphireRapids"};
  return std::find(kModern.begin(), kModern.end(), core) != kModern.end();
}

}  // namespace

void use_one_thread() { openblas_set_num_threads(1); }

void use_fitting_kernels(const sdk::Host& host) {
  const char* core = fitting_core();
  if (core == nullptr || getenv(kVariable) != nullptr || gotoblas_dynamic_init == nullptr ||
      gotoblas_dynamic_quit == nullptr || uses_vectors_of_avx2(openblas_get_corename())) {
    return;
  }
  const std::string before = openblas_get_corename();
  // The variable is the one way that the library offers to be told.
  setenv(kVariable, core, 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv(kVariable);
  constexpr std::int32_t kInfo = 1;
  host.log(kInfo, ("OpenBLAS took the CPU for " + before + "; now uses the kernels of " +
                   openblas_get_corename())
                      .c_str());
}

}  // namespace inlay::openblas
