// The C++ faces of a plugin's devices, programs and instances. Children hold their parents, so the
// plugin sees them destroyed in the right order whatever the caller does.
//
//   const std::shared_ptr<Device> device = make_device(library, 0);
#pragma once

#include <memory>

#include "core/host/library.h"
#include "core/host/plugin_host.h"

namespace inlay {

// throws  Error{kPluginFailed} if the plugin has no such device or cannot create it
std::shared_ptr<Device> make_device(std::shared_ptr<const Library> library, int index);

}  // namespace inlay
