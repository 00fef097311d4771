#include "tests/core/abi/layout.h"
