// Settings of the OpenBLAS library as a whole, made once at the plugin's init.
#pragma once

#include "core/sdk/kernel.h"

namespace inlay::openblas {

// Keeps OpenBLAS to the calling thread; the split over threads is ours, on the host's pool.
void use_one_thread();

// OpenBLAS picks its kernels by CPU model, and for one newer than itself falls back to SSE, some
// twenty times slower. Where that happened, and OPENBLAS_CORETYPE leaves the choice to the library,
// makes it choose again by what the CPU can do. Nobody in the process may be inside OpenBLAS
// meanwhile.
void use_fitting_kernels(const sdk::Host& host);

}  // namespace inlay::openblas
