/* Inlay plugin ABI, version 1: the contract between the host and a backend. Plain C11; also
 * compiles as C++17 and later.
 *
 * A plugin is a shared library with one export, inlay_plugin_query, and a manifest: JSON in the ELF
 * section ".inlay.manifest" that the host reads without loading the library (core/host/manifest.h
 * lists its keys). Authors in C++ write neither by hand; see core/sdk/plugin.h.
 * docs/plugin_guide.md tells how to start.
 *
 * Rules
 *   Versioning  Majors must be equal; minors are free both ways. Every struct starts with
 *               struct_size, set by whoever fills it. Structs grow at the end only. Read a field
 *               only if struct_size covers it and, for a pointer or function, only if it is not
 *               null. Arrays of structs are arrays of pointers, so that growth does not move
 *               elements. A table entry is required only where marked [required].
 *   Errors      Functions return an inlay_status. The text goes into the caller's inlay_error, so
 *               nothing is freed. Outputs are untouched unless the status is INLAY_OK. Destroy
 *               functions return void and accept null. No exception, abort or exit may leave a
 *               plugin.
 *   Declining   INLAY_DECLINED means "cannot, and that is normal"; the reason goes into the error
 *               text.
 *   Lifetimes   Device owns Program owns Instance; Device owns Buffer, Stream, Event, Packed. The
 *               host destroys children first. Pointers passed to a call die with the call unless
 *               the function says otherwise.
 *   Threads     Each function carries a tag: [any-thread] callable at once from several threads,
 *               even on one object; [one-thread] one caller at a time per object, though the thread
 *               may change.
 *   Units       In the names: _ns nanoseconds, _bytes bytes, _pj picojoules.
 */
#ifndef INLAY_PLUGIN_H
#define INLAY_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INLAY_ABI_MAJOR 1u
#define INLAY_ABI_MINOR 0u

/* True if `object` was filled by someone who knew `field`. */
#define INLAY_HAS(object, field)                                                               \
  ((object)->struct_size >= (uint32_t)((const char*)&(object)->field - (const char*)(object) + \
                                       (ptrdiff_t)sizeof((object)->field)))

typedef int32_t inlay_status;
enum {
  INLAY_OK = 0,
  INLAY_DECLINED = 1,       /* cannot run this; a normal answer */
  INLAY_INVALID = 2,        /* the caller broke a rule of this header */
  INLAY_NO_MEMORY = 3,      /* device or host memory is short; the call may be repeated */
  INLAY_STALE_ARTIFACT = 4, /* saved program made by another build, device or options */
  INLAY_DEVICE_LOST = 5,    /* the device is gone until it is created again */
  INLAY_CANCELLED = 6,
  INLAY_INTERNAL = 7 /* a fault of the plugin */
};

#define INLAY_ERROR_TEXT_BYTES 504u
/* Owned by the caller, who sets struct_size. `text` is UTF-8, always terminated. */
typedef struct inlay_error {
  uint32_t struct_size;
  inlay_status code;
  char text[INLAY_ERROR_TEXT_BYTES];
} inlay_error;

/* ---- Data ------------------------------------------------------------------------------------ */

/* Element types, numbered as ONNX's TensorProto.DataType. */
typedef int32_t inlay_dtype;
enum {
  INLAY_F32 = 1,
  INLAY_U8 = 2,
  INLAY_I8 = 3,
  INLAY_U16 = 4,
  INLAY_I16 = 5,
  INLAY_I32 = 6,
  INLAY_I64 = 7,
  INLAY_STRING = 8,
  INLAY_BOOL = 9,
  INLAY_F16 = 10,
  INLAY_F64 = 11,
  INLAY_U32 = 12,
  INLAY_U64 = 13,
  INLAY_BF16 = 16
};

/* How elements lie in memory: `order` lists the logical dimensions, outermost first; then come
 * `block_count` inner blocks, innermost last. NCHW has order 0,1,2,3 and no block; nChw16c has the
 * same order and one block of 16 of dimension 1. A blocked dimension is padded with zeros to whole
 * blocks. `text` is the same as oneDNN's tag: "aBcd16b". */
typedef struct inlay_layout {
  uint32_t struct_size;
  int32_t rank;
  const int32_t* order; /* [rank] */
  int32_t block_count;
  const int32_t* block_dims;  /* [block_count] */
  const int64_t* block_sizes; /* [block_count] */
  const char* text;
} inlay_layout;

typedef struct inlay_buffer inlay_buffer;

/* A tensor with memory. In the space "host" `data` points to the first element and `buffer` is
 * null. In another space `data` is null and the elements start `offset_bytes` into `buffer`.
 * `size_bytes` counts padding. The host aligns `data` to at least 64 bytes, except for inputs and
 * outputs of the whole plan that the user gave, which are aligned to the element only. */
typedef struct inlay_tensor {
  uint32_t struct_size;
  inlay_dtype dtype;
  int32_t rank;
  const int64_t* dims; /* [rank]; null if rank is 0 */
  const inlay_layout* layout;
  void* data;
  inlay_buffer* buffer;
  uint64_t offset_bytes;
  uint64_t size_bytes;
} inlay_tensor;

typedef int32_t inlay_attribute_kind;
enum {
  INLAY_ATTRIBUTE_INT = 1,
  INLAY_ATTRIBUTE_FLOAT = 2,
  INLAY_ATTRIBUTE_STRING = 3,
  INLAY_ATTRIBUTE_INTS = 4,
  INLAY_ATTRIBUTE_FLOATS = 5,
  INLAY_ATTRIBUTE_STRINGS = 6,
  INLAY_ATTRIBUTE_TENSOR = 7
};

/* Scalars are arrays of one. Only the pointer of the attribute's kind is set. */
typedef struct inlay_attribute {
  uint32_t struct_size;
  inlay_attribute_kind kind;
  const char* name;
  int64_t count;
  const int64_t* ints;
  const float* floats;
  const char* const* strings;
  const inlay_tensor* tensor;
} inlay_attribute;

/* An operator in Inlay's canonical form (docs/operators.md): ONNX's operator of opset 22, with
 * parameters such as axes, pads and Clip's bounds as attributes. */
typedef struct inlay_node {
  uint32_t struct_size;
  const char* name; /* the model's name, for messages; may be empty */
  /* "" is ai.onnx; "inlay" holds Inlay's own, such as Convert (layout conversion) */
  const char* domain;
  const char* op;
  int32_t input_count;
  const int32_t* inputs; /* value indices; -1 for an omitted optional input */
  int32_t output_count;
  const int32_t* outputs; /* value indices; -1 for an output nobody reads */
  int32_t attribute_count;
  const inlay_attribute* const* attributes; /* sorted by name */
} inlay_node;

typedef struct inlay_value {
  uint32_t struct_size;
  const char* name;
  /* the pattern's variable that this value is bound to ("X", "W"); null if none */
  const char* port;
  inlay_dtype dtype;
  int32_t rank;
  const int64_t* dims;
  const inlay_layout* layout;
  /* null unless constant; its data stays valid until the program is destroyed */
  const inlay_tensor* constant;
  const uint64_t* constant_hash; /* [2] content hash, equal for equal bytes; null unless constant */
} inlay_value;

/* A convex part of a graph. Nodes are in topological order; every shape is known. Constants are not
 * inputs. */
typedef struct inlay_region {
  uint32_t struct_size;
  const char* pattern_id; /* id of the manifest pattern that matched */
  int32_t value_count;
  const inlay_value* const* values;
  int32_t node_count;
  const inlay_node* const* nodes;
  int32_t input_count;
  const int32_t* inputs; /* value indices, in the order in which enqueue passes them */
  int32_t output_count;
  const int32_t* outputs;
} inlay_region;

typedef struct inlay_option {
  uint32_t struct_size;
  const char* key;
  const char* value;
} inlay_option;

typedef int32_t inlay_clock;
enum { INLAY_CLOCK_WALL = 0, INLAY_CLOCK_SIMULATED = 1 };

typedef struct inlay_device_info {
  uint32_t struct_size;
  char name[64];         /* "cpu", "opencl:0" */
  char space[64];        /* memory space its programs read and write; "host" */
  char fingerprint[192]; /* changes when measurements would no longer hold: model, ISA, driver */
  inlay_clock clock;
  uint64_t memory_bytes; /* capacity of the space; 0: unlimited or unknown */
} inlay_device_info;

typedef struct inlay_compile_request {
  uint32_t struct_size;
  const inlay_region* region;
  int32_t thread_cap;       /* the most threads a run may use at once, at least 1 */
  uint64_t workspace_bytes; /* the most workspace a run may ask for; 0: no limit */
  int64_t deadline_ns;      /* on the host's now_ns clock; 0: none */
  const void* onnx_bytes;   /* engines: the region as an ONNX model; else null */
  uint64_t onnx_size_bytes;
  int32_t option_count;
  const inlay_option* const* options; /* knobs */
} inlay_compile_request;

typedef struct inlay_program_info {
  uint32_t struct_size;
  uint64_t workspace_bytes; /* per instance, 64-byte aligned, contents not kept between runs */
  /* 1: run reads the constants that compile was given, so the host must keep them */
  int32_t retains_constants;
  int32_t is_deterministic; /* 1: same inputs and threads, same bits */
} inlay_program_info;

/* Filled by enqueue where the device keeps a clock of its own (INLAY_CLOCK_SIMULATED); else left
 * alone. */
typedef struct inlay_run_report {
  uint32_t struct_size;
  int64_t simulated_ns;
  int64_t cycles;
  double energy_pj;
} inlay_run_report;

typedef struct inlay_estimate {
  uint32_t struct_size;
  int64_t time_ns;
  double energy_pj;
} inlay_estimate;

enum { INLAY_RUN_TIMING_ONLY = 1u };

typedef struct inlay_device inlay_device;
typedef struct inlay_program inlay_program;
typedef struct inlay_instance inlay_instance;
typedef struct inlay_stream inlay_stream;
typedef struct inlay_event inlay_event;
typedef struct inlay_packed inlay_packed;

/* ---- What the host offers -------------------------------------------------------------------- */

typedef struct inlay_host inlay_host;
struct inlay_host {
  uint32_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  void* context; /* pass back as the first argument of every function below */

  /* Writes one event. level: 0 debug, 1 info, 2 warning, 3 error. [any-thread] */
  void (*log)(void* context, int32_t level, const char* text);

  /* Runs body(argument, i) for every i in [0, count), on the process's thread pool and at most the
   * cap's threads, and returns when all have run. Must not be called while holding a lock that body
   * takes. [any-thread] */
  void (*parallel_for)(void* context, int64_t count, void (*body)(void* argument, int64_t index),
                       void* argument);

  /* The most threads the calling run may use. [any-thread] */
  int32_t (*thread_cap)(void* context);

  /* Monotonic clock. [any-thread] */
  int64_t (*now_ns)(void* context);

  /* A table by name ("inlay.reference/1"), or null. Lives as long as the host. [any-thread] */
  const void* (*get_extension)(void* context, const char* id);
};

/* ---- What a plugin offers -------------------------------------------------------------------- */

/* Optional group: devices with memory of their own. */
typedef struct inlay_memory_table {
  uint32_t struct_size;
  inlay_status (*alloc)(inlay_device*, const char* space, uint64_t size_bytes,
                        uint64_t alignment_bytes, inlay_error*,
                        inlay_buffer** out);  /* [any-thread] */
  void (*free)(inlay_device*, inlay_buffer*); /* [any-thread] */
  /* Wraps host memory without copying; the memory outlives the buffer. [any-thread] */
  inlay_status (*import_host)(inlay_device*, void* data, uint64_t size_bytes, inlay_error*,
                              inlay_buffer** out);
  /* mode: 1 read, 2 write, 3 both. The pointer is valid until unmap. [any-thread] */
  inlay_status (*map)(inlay_device*, inlay_buffer*, uint64_t offset_bytes, uint64_t size_bytes,
                      uint32_t mode, inlay_error*, void** out);
  inlay_status (*unmap)(inlay_device*, inlay_buffer*, void* data, inlay_error*);
  /* Copies between buffers, or between a buffer and host memory (the tensor whose `data` is set).
   * Complete on return if `stream` is null. [any-thread] */
  inlay_status (*copy)(inlay_device*, const inlay_tensor* source, const inlay_tensor* target,
                       inlay_stream*, inlay_error*);
} inlay_memory_table;

/* Optional group: asynchronous devices. Failed work completes its events, carrying the error. */
typedef struct inlay_stream_table {
  uint32_t struct_size;
  inlay_status (*create_stream)(inlay_device*, inlay_error*, inlay_stream** out); /* [any-thread] */
  void (*destroy_stream)(inlay_device*, inlay_stream*);
  inlay_status (*sync_stream)(inlay_stream*, inlay_error*);                     /* [one-thread] */
  inlay_status (*create_event)(inlay_device*, inlay_error*, inlay_event** out); /* [any-thread] */
  void (*destroy_event)(inlay_device*, inlay_event*); /* legal before completion */
  inlay_status (*record_event)(inlay_event*, inlay_stream*, inlay_error*);
  /* *out: 1 done, 0 pending. */
  inlay_status (*query_event)(inlay_event*, inlay_error*, int32_t* out);
  inlay_status (*wait_event)(inlay_event*, int64_t timeout_ns, inlay_error*);
  inlay_status (*stream_wait_event)(inlay_stream*, inlay_event*, inlay_error*);
} inlay_stream_table;

typedef struct inlay_plugin {
  uint32_t struct_size;
  uint32_t abi_major; /* equal to the host's, or the plugin is refused */
  uint32_t abi_minor;
  const char* name;
  const char* version;

  /* Counted: a second init succeeds and needs a second deinit. `host` outlives the last deinit.
   * [any-thread] [required] */
  inlay_status (*init)(const inlay_host* host, inlay_error*);
  void (*deinit)(void); /* [any-thread] */

  /* Describes device `index`, from 0; INLAY_DECLINED past the last. [any-thread] [required] */
  inlay_status (*device_info)(int32_t index, inlay_device_info* out, inlay_error*);

  /* [any-thread] [required] An option the plugin does not know is INLAY_INVALID, naming it. */
  inlay_status (*create_device)(int32_t index, int32_t option_count,
                                const inlay_option* const* options, inlay_error*,
                                inlay_device** out);
  void (*destroy_device)(inlay_device*); /* [required] */

  /* Says in microseconds whether compile would decline, for what the pattern grammar cannot say.
   * Pure. [any-thread] */
  inlay_status (*veto)(inlay_device*, const inlay_region*, inlay_error*);

  /* Compiles the region in `request` (valid during the call, constants longer: see inlay_value). On
   * OK *out belongs to the host, which frees it with destroy_program. DECLINED: cannot, reason in
   * the error. [any-thread] [required] */
  inlay_status (*compile)(inlay_device*, const inlay_compile_request* request, inlay_error*,
                          inlay_program** out);
  void (*destroy_program)(inlay_program*); /* [required] */

  inlay_status (*program_info)(inlay_program*,
                               inlay_program_info* out); /* [any-thread] [required] */

  /* Writes the program through `write` in pieces; `identity` is the host's key. [any-thread] */
  inlay_status (*save_program)(inlay_program*, const char* identity,
                               inlay_status (*write)(void* argument, const void* bytes,
                                                     uint64_t size_bytes),
                               void* argument, inlay_error*);
  /* INLAY_STALE_ARTIFACT: compile again. [any-thread] */
  inlay_status (*load_program)(inlay_device*, const void* bytes, uint64_t size_bytes,
                               const char* identity, inlay_error*, inlay_program** out);

  /* `workspace` holds program_info's workspace_bytes and outlives the instance; null if that is 0.
   * [any-thread] [required] */
  inlay_status (*create_instance)(inlay_program*, void* workspace, inlay_error*,
                                  inlay_instance** out);
  void (*destroy_instance)(inlay_instance*); /* [required] */

  /* Runs the program once. Tensors come in the region's order of inputs and outputs, in the layouts
   * it was compiled for. Complete on return if `stream` is null. Inputs are never written. An
   * output shares memory with an input only where the manifest declares the alias. `report` may be
   * null. [one-thread] [required] */
  inlay_status (*enqueue)(inlay_instance*, inlay_stream* stream, int32_t input_count,
                          const inlay_tensor* const* inputs, int32_t output_count,
                          const inlay_tensor* const* outputs, int32_t wait_count,
                          inlay_event* const* waits, uint32_t flags, inlay_run_report* report,
                          inlay_error*);
  void (*cancel)(inlay_instance*); /* [any-thread] */

  /* Advisory for wall-clock devices; equal to what enqueue reports for simulated ones. [any-thread]
   * */
  inlay_status (*estimate)(inlay_device*, const inlay_region*, inlay_estimate* out, inlay_error*);

  /* Lays a constant out once for any number of programs; the host calls it once per content hash.
   * [any-thread] */
  inlay_status (*pack)(inlay_device*, const uint64_t content_hash[2], const inlay_tensor*,
                       const inlay_layout* target, inlay_error*, inlay_packed** out);
  void (*release_packed)(inlay_device*, inlay_packed*);

  const inlay_memory_table* memory;  /* null: its programs live in the space "host" */
  const inlay_stream_table* streams; /* null: enqueue is synchronous */

  /* A table by name ("inlay.profiler/1"), or null. Lives as long as the library. [any-thread] */
  const void* (*get_extension)(const char* id);
} inlay_plugin;

/* The only export. Returns the plugin's table, or null if host_major is not INLAY_ABI_MAJOR. Pure
 * and repeatable: may be called any number of times, before init, from any thread. */
const inlay_plugin* inlay_plugin_query(uint32_t host_major, uint32_t host_minor);
typedef const inlay_plugin* (*inlay_plugin_query_fn)(uint32_t host_major, uint32_t host_minor);

#ifdef __cplusplus
}
#endif

#endif /* INLAY_PLUGIN_H */
