// What it costs that the host's threads fall asleep while a library works on threads of its own.
// Private to search/cost.
#pragma once

#include "search/cost/meter.h"

namespace inlay {

// Added time, in ns, of the first work that the host's pool gets after idling for long enough to
// fall asleep, against work that follows at once. Measured in this process and kept in the
// database; 0 on one thread.
double price_wake(Meter& meter);

}  // namespace inlay
