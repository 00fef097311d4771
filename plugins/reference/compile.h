// Compiles a region of one canonical operator; what the plugin's table calls, and what tests call
// without the ABI.
#pragma once

#include <memory>

#include "core/sdk/kernel.h"

namespace inlay::reference {

// throws  sdk::Decline with the reason
std::unique_ptr<sdk::Kernel> compile_region(const sdk::RegionView& region,
                                            const sdk::CompileContext& context);

}  // namespace inlay::reference
