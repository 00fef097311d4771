// The SDK as a plugin's author includes it, with more warnings than Inlay itself is built with.
#include "core/sdk/plugin.h"
