// Runs one region once, without a plan: constant folding at import, and small checks.
//
//   const std::shared_ptr<Device> reference = host.open_device("reference");
//   const std::optional<std::vector<Tensor>> folded = evaluate(region, {}, *reference);
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/host/plugin_host.h"

namespace inlay {

// inputs   one dense tensor per region input, in order
// returns  the region's outputs, dense; nullopt if the device declined the region
// throws   Error{kPluginFailed}
std::optional<std::vector<Tensor>> evaluate(const Region& region, std::span<const Tensor> inputs,
                                            Device& device);

}  // namespace inlay
