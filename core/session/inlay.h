/* Runs plans inside a C program: the C face of session.h. Plain C11; link libinlay.so. An
 * installation has this header as <inlay/inlay.h>.
 *
 *   inlay_runtime* runtime = NULL;
 *   inlay_session* session = NULL;
 *   inlay_failure failure = {.struct_size = sizeof failure};
 *   if (inlay_runtime_create(NULL, &runtime, &failure) != INLAY_CODE_OK ||
 *       inlay_session_open(runtime, "m.plan", NULL, &session, &failure) != INLAY_CODE_OK) {
 *     fprintf(stderr, "%s\n", failure.text);
 *   }
 *
 * Rules
 *   Structs     Each starts with struct_size, which the caller sets to its sizeof. Structs grow at
 *               the end only, and the library touches no field that struct_size does not cover. One
 *               too small for the first version is INLAY_CODE_INVALID_ARGUMENT. Arrays of structs
 *               are arrays of pointers, so that growth does not move elements.
 *   Errors      Functions return an inlay_code; the text goes into the caller's inlay_failure,
 *               which may be null. Outputs are untouched unless the code is INLAY_CODE_OK.
 *   Lifetimes   Whoever creates destroys; destroying null does nothing. A session keeps what it
 *               needs of its runtime, so that either may go first. Strings and dims that come out
 *               live as long as the session.
 *   Threads     Everything may be called from several threads at once, also on one session; only
 *               the destroying of a handle must be its last use.
 */
#ifndef INLAY_SESSION_H
#define INLAY_SESSION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t inlay_code;
enum {
  INLAY_CODE_OK = 0,
  INLAY_CODE_INVALID_ARGUMENT = 1,
  INLAY_CODE_NOT_FOUND = 2, /* a file, plugin or name that does not exist */
  INLAY_CODE_IO = 3,
  INLAY_CODE_CORRUPT = 4, /* a file that is not what it claims to be */
  INLAY_CODE_SHAPE_MISMATCH = 5,
  INLAY_CODE_UNSUPPORTED = 6,
  INLAY_CODE_PLUGIN_FAILED = 7,
  INLAY_CODE_NO_MEMORY = 8,
  INLAY_CODE_STALE = 9, /* the plan was made for another plugin build or machine */
  INLAY_CODE_BUSY = 10,
  INLAY_CODE_CANCELLED = 11,
  INLAY_CODE_INTERNAL = 12
};

/* Element types, numbered as ONNX's TensorProto.DataType. */
typedef int32_t inlay_type;
enum {
  INLAY_TYPE_F32 = 1,
  INLAY_TYPE_U8 = 2,
  INLAY_TYPE_I8 = 3,
  INLAY_TYPE_U16 = 4,
  INLAY_TYPE_I16 = 5,
  INLAY_TYPE_I32 = 6,
  INLAY_TYPE_I64 = 7,
  INLAY_TYPE_BOOL = 9,
  INLAY_TYPE_F16 = 10,
  INLAY_TYPE_F64 = 11,
  INLAY_TYPE_U32 = 12,
  INLAY_TYPE_U64 = 13,
  INLAY_TYPE_BF16 = 16
};

#define INLAY_FAILURE_TEXT_BYTES 1016u
/* `text` is UTF-8, always terminated, cut where it is too long. */
typedef struct inlay_failure {
  uint32_t struct_size;
  inlay_code code;
  char text[INLAY_FAILURE_TEXT_BYTES];
} inlay_failure;

typedef struct inlay_runtime inlay_runtime;
typedef struct inlay_session inlay_session;

typedef struct inlay_runtime_options {
  uint32_t struct_size;
  int32_t threads;     /* the most that all runs use together; 0: all this process may use */
  const char* plugins; /* folders or files, colon-separated; null: INLAY_PLUGIN_PATH, else the
                        * ones near the program or libinlay.so */
} inlay_runtime_options;

typedef struct inlay_session_options {
  uint32_t struct_size;
  int32_t concurrent_runs; /* each has memory of its own; further callers wait. 0: as many as the
                            * runtime has threads */
} inlay_session_options;

typedef struct inlay_tensor_info {
  uint32_t struct_size;
  inlay_type type;
  const char* name;
  int32_t rank;
  const int64_t* dims; /* [rank]; null if rank is 0 */
  uint64_t size_bytes;
} inlay_tensor_info;

/* The caller's memory for one input or output: dense, row-major. It is used in place if it is
 * aligned to its element, copied else. That of an input is not written. */
typedef struct inlay_memory {
  uint32_t struct_size;
  inlay_type type;
  const char* name;
  int32_t rank; /* -1: `dims` is not given, and only the size is checked */
  const int64_t* dims;
  void* data;
  uint64_t size_bytes;
} inlay_memory;

/* "0.1.0". */
const char* inlay_version(void);

/* `options` may be null. */
inlay_code inlay_runtime_create(const inlay_runtime_options* options, inlay_runtime** out,
                                inlay_failure* failure);
void inlay_runtime_destroy(inlay_runtime* runtime);

/* Opens NAME.plan and NAME.weights beside it. `options` may be null. Sessions of one plan share
 * everything but the memory of a run. */
inlay_code inlay_session_open(inlay_runtime* runtime, const char* plan,
                              const inlay_session_options* options, inlay_session** out,
                              inlay_failure* failure);
void inlay_session_close(inlay_session* session);

int32_t inlay_session_input_count(const inlay_session* session);  /* 0 for null */
int32_t inlay_session_output_count(const inlay_session* session); /* 0 for null */
inlay_code inlay_session_input_info(const inlay_session* session, int32_t index,
                                    inlay_tensor_info* out, inlay_failure* failure);
inlay_code inlay_session_output_info(const inlay_session* session, int32_t index,
                                     inlay_tensor_info* out, inlay_failure* failure);

/* Every input and output of the plan once, in any order; inputs and outputs must not overlap. After
 * a failure the contents of the outputs' memory are unspecified. */
inlay_code inlay_session_run(inlay_session* session, int32_t input_count,
                             const inlay_memory* const* inputs, int32_t output_count,
                             const inlay_memory* const* outputs, inlay_failure* failure);

#ifdef __cplusplus
}
#endif

#endif /* INLAY_SESSION_H */
