// How much memory this process may still take before the system ends somebody for it.
//
//   if (needed_bytes > available_memory_bytes()) ...   // say so, instead of being killed
//
// malloc grants more than there is; the price is paid when the pages are touched.
#pragma once

#include <cstdint>

namespace inlay {

// What the machine has to spare without swapping, or what the limits of this process's cgroups (of
// version 2) leave, where that is less. The greatest number where the system tells neither.
std::uint64_t available_memory_bytes();

}  // namespace inlay
