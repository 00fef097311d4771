/* Extension "inlay.trace/1" of the host: where a plugin reports what ran when.
 *
 *   const inlay_trace* trace = host->get_extension(host->context, INLAY_TRACE_ID);
 *   if (trace != NULL) trace->span(trace->context, "upload", INLAY_TRACE_HOST_CLOCK, begin, end);
 *
 * Times are on the clock that `clock_id` names. The host's own, INLAY_TRACE_HOST_CLOCK, is that of
 * its now_ns; who has another clock converts, since a span that lies outside the call that caused
 * it is of no use. INLAY_TRACE_SIMULATED_CLOCK is a simulated device's, from 0.
 */
#ifndef INLAY_TRACE_H
#define INLAY_TRACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INLAY_TRACE_ID "inlay.trace/1"

enum { INLAY_TRACE_HOST_CLOCK = 0, INLAY_TRACE_SIMULATED_CLOCK = 1 };

typedef struct inlay_trace {
  uint32_t struct_size;
  void* context; /* pass back as the first argument */
  /* Copies `name`. [any-thread] */
  void (*span)(void* context, const char* name, int32_t clock_id, int64_t begin_ns, int64_t end_ns);
} inlay_trace;

#ifdef __cplusplus
}
#endif

#endif /* INLAY_TRACE_H */
