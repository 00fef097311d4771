/* Compiles only if every field of the ABI lies where it was promised to. C11 and C++. */
#include <stddef.h>

#include "core/abi/inlay_plugin.h"

#ifdef __cplusplus
#define INLAY_LAYOUT_ASSERT static_assert
#else
#define INLAY_LAYOUT_ASSERT _Static_assert
#endif

#define INLAY_FIELD(type, field, offset, bytes)                                          \
  INLAY_LAYOUT_ASSERT(offsetof(type, field) == (offset), #type "." #field " has moved"); \
  INLAY_LAYOUT_ASSERT(sizeof(((type*)0)->field) == (bytes), #type "." #field " changed size");
#include "tests/core/abi/layout.inc"
