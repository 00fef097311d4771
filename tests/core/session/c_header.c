// The public C header is plain C11, alone and beside the plugin ABI's.
#include "core/session/inlay.h"

#include "core/abi/inlay_plugin.h"

_Static_assert((int)INLAY_TYPE_F32 == (int)INLAY_F32 && (int)INLAY_TYPE_BF16 == (int)INLAY_BF16,
               "the two headers number the element types alike");
_Static_assert(offsetof(inlay_failure, struct_size) == 0 &&
                   offsetof(inlay_memory, struct_size) == 0 &&
                   offsetof(inlay_tensor_info, struct_size) == 0,
               "struct_size comes first");

// So that a C compiler calls the library at least once.
const char* version_seen_from_c(void) { return inlay_version(); }
