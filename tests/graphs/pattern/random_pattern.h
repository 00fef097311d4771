// Random patterns for property tests.
#pragma once

#include "core/base/rng.h"
#include "graphs/pattern/pattern.h"

namespace inlay {

// A pattern of up to about ten nodes with every feature of the grammar, valid by construction.
Pattern random_pattern(Rng& rng);

}  // namespace inlay
