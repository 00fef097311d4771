// One function per family of operators.
// throws  Decline
#pragma once

#include <memory>

#include "core/sdk/kernel.h"

namespace inlay::openblas {

std::unique_ptr<sdk::Kernel> compile_matmul(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_convolution(const sdk::RegionView& region, int thread_cap);

}  // namespace inlay::openblas
