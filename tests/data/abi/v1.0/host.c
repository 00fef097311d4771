/* A host in plain C as somebody wrote it for ABI 1.0. Frozen with the header. Loads a plugin, has it
 * compile a Relu and runs that.
 *
 *   host PLUGIN.so PATTERN     prints "ok"; else says what went wrong and exits with 1
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/abi/inlay_plugin.h"

#define COUNT 64

static void log_event(void* context, int32_t level, const char* text) {
  (void)context;
  fprintf(stderr, "plugin, level %d: %s\n", (int)level, text);
}

static void parallel_for(void* context, int64_t count, void (*body)(void*, int64_t),
                         void* argument) {
  (void)context;
  for (int64_t i = 0; i < count; ++i) body(argument, i);
}

static int32_t thread_cap(void* context) {
  (void)context;
  return 1;
}

static int64_t now_ns(void* context) {
  struct timespec now;
  (void)context;
  timespec_get(&now, TIME_UTC);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static const void* get_extension(void* context, const char* id) {
  (void)context, (void)id;
  return NULL;
}

static inlay_error error;

static void check(const char* what, int is_right) {
  if (is_right) return;
  printf("%s: %s\n", what, error.text[0] != '\0' ? error.text : "failed");
  exit(1);
}

static const inlay_plugin* load(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) printf("%s\n", dlerror());
  check("load", library != NULL);
  inlay_plugin_query_fn query;
  void* symbol = dlsym(library, "inlay_plugin_query");
  check("inlay_plugin_query", symbol != NULL);
  memcpy(&query, &symbol, sizeof(query));
  check("another major", query(INLAY_ABI_MAJOR + 1, 0) == NULL);
  const inlay_plugin* plugin = query(INLAY_ABI_MAJOR, INLAY_ABI_MINOR);
  check("table", plugin != NULL && INLAY_HAS(plugin, enqueue));
  check("major", plugin->abi_major == INLAY_ABI_MAJOR);
  return plugin;
}

/* One node of one operand. */
static inlay_program* compile(const inlay_plugin* plugin, inlay_device* device,
                              const inlay_layout* layout, const char* pattern) {
  static const int64_t dims[] = {COUNT};
  static const int32_t first[] = {0};
  static const int32_t second[] = {1};
  const inlay_value x = {.struct_size = sizeof(x), .name = "x", .port = "X", .dtype = INLAY_F32,
                         .rank = 1, .dims = dims, .layout = layout};
  const inlay_value y = {.struct_size = sizeof(y), .name = "y", .port = "out", .dtype = INLAY_F32,
                         .rank = 1, .dims = dims, .layout = layout};
  const inlay_value* const values[] = {&x, &y};
  const inlay_node node = {.struct_size = sizeof(node), .name = "relu", .domain = "", .op = "Relu",
                           .input_count = 1, .inputs = first, .output_count = 1, .outputs = second};
  const inlay_node* const nodes[] = {&node};
  const inlay_region region = {.struct_size = sizeof(region), .pattern_id = pattern,
                               .value_count = 2, .values = values, .node_count = 1, .nodes = nodes,
                               .input_count = 1, .inputs = first, .output_count = 1,
                               .outputs = second};
  const inlay_compile_request request = {.struct_size = sizeof(request), .region = &region,
                                         .thread_cap = 1};
  inlay_program* program = NULL;
  check("compile", plugin->compile(device, &request, &error, &program) == INLAY_OK);
  check("program", program != NULL);
  return program;
}

static void run(const inlay_plugin* plugin, inlay_program* program, const inlay_layout* layout) {
  static const int64_t dims[] = {COUNT};
  inlay_program_info info = {.struct_size = sizeof(info)};
  check("program_info", plugin->program_info(program, &info) == INLAY_OK);
  const size_t rounded = (size_t)(info.workspace_bytes + 63) / 64 * 64;
  void* workspace = rounded > 0 ? aligned_alloc(64, rounded) : NULL;
  inlay_instance* instance = NULL;
  check("create_instance",
        plugin->create_instance(program, workspace, &error, &instance) == INLAY_OK);
  float* in = aligned_alloc(64, COUNT * sizeof(float));
  float* out = aligned_alloc(64, COUNT * sizeof(float));
  for (int i = 0; i < COUNT; ++i) in[i] = (float)(i - COUNT / 2);
  const inlay_tensor x = {.struct_size = sizeof(x), .dtype = INLAY_F32, .rank = 1, .dims = dims,
                          .layout = layout, .data = in, .size_bytes = COUNT * sizeof(float)};
  inlay_tensor y = x;
  y.data = out;
  const inlay_tensor* const inputs[] = {&x};
  const inlay_tensor* const outputs[] = {&y};
  check("enqueue", plugin->enqueue(instance, NULL, 1, inputs, 1, outputs, 0, NULL, 0, NULL,
                                   &error) == INLAY_OK);
  for (int i = 0; i < COUNT; ++i) check("result", out[i] == (in[i] < 0 ? 0 : in[i]));
  plugin->destroy_instance(instance);
  free(workspace);
  free(in);
  free(out);
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: host PLUGIN.so PATTERN\n");
    return 2;
  }
  static const inlay_host host = {sizeof(inlay_host), INLAY_ABI_MAJOR, INLAY_ABI_MINOR, NULL,
                                  log_event,          parallel_for,    thread_cap,      now_ns,
                                  get_extension};
  static const int32_t order[] = {0};
  const inlay_layout layout = {.struct_size = sizeof(layout), .rank = 1, .order = order,
                               .text = "a"};
  error.struct_size = sizeof(error);
  const inlay_plugin* plugin = load(argv[1]);
  check("init", plugin->init(&host, &error) == INLAY_OK);
  inlay_device_info info = {.struct_size = sizeof(info)};
  check("device_info", plugin->device_info(0, &info, &error) == INLAY_OK);
  check("device_info past the last",
        plugin->device_info(1, &info, &error) == INLAY_DECLINED && info.name[0] != '\0');
  inlay_device* device = NULL;
  check("create_device", plugin->create_device(0, 0, NULL, &error, &device) == INLAY_OK);
  inlay_program* program = compile(plugin, device, &layout, argv[2]);
  run(plugin, program, &layout);
  plugin->destroy_program(program);
  plugin->destroy_device(device);
  if (INLAY_HAS(plugin, deinit) && plugin->deinit != NULL) plugin->deinit();
  puts("ok");
  return 0;
}
