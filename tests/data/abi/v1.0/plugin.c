/* A plugin in plain C as somebody wrote it for ABI 1.0: elementwise Relu. Frozen with the header; the
 * build names it and says which header it is compiled with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/abi/inlay_plugin.h"

__attribute__((section(".inlay.manifest"), used, retain)) static const char kManifest[] =
    "{\"abi\": [1, " PLUGIN_MINOR "], \"name\": \"" PLUGIN_NAME "\", \"version\": \"1.0\", \"threads\": \"host-pool\","
    " \"sanitizer\": \"none\", \"patterns\": [{\"id\": \"relu\", \"ops\": [\"Relu\"], \"where\": "
    "\"0: f32\"}]}";

struct inlay_device {
  int index;
};
struct inlay_program {
  int64_t count;
};
struct inlay_instance {
  int64_t count;
};

static inlay_status fail(inlay_error* error, inlay_status code, const char* text) {
  error->code = code;
  snprintf(error->text, sizeof(error->text), "%s", text);
  return code;
}

static inlay_status init(const inlay_host* host, inlay_error* error) {
  (void)host, (void)error;
  return INLAY_OK;
}

static inlay_status device_info(int32_t index, inlay_device_info* out, inlay_error* error) {
  if (index != 0) return fail(error, INLAY_DECLINED, "there is one device");
  snprintf(out->name, sizeof(out->name), "cpu");
  snprintf(out->space, sizeof(out->space), "host");
  snprintf(out->fingerprint, sizeof(out->fingerprint), "any");
  return INLAY_OK;
}

static inlay_status create_device(int32_t index, int32_t option_count,
                                  const inlay_option* const* options, inlay_error* error,
                                  inlay_device** out) {
  if (option_count > 0) return fail(error, INLAY_INVALID, options[0]->key);
  inlay_device* device = malloc(sizeof(*device));
  if (device == NULL) return fail(error, INLAY_NO_MEMORY, "device");
  device->index = index;
  *out = device;
  return INLAY_OK;
}

static void destroy_device(inlay_device* device) { free(device); }

static inlay_status compile(inlay_device* device, const inlay_compile_request* request,
                            inlay_error* error, inlay_program** out) {
  const inlay_region* region = request->region;
  (void)device;
  if (strcmp(region->pattern_id, "relu") != 0) return fail(error, INLAY_DECLINED, "relu only");
  inlay_program* program = malloc(sizeof(*program));
  if (program == NULL) return fail(error, INLAY_NO_MEMORY, "program");
  const inlay_value* value = region->values[region->inputs[0]];
  program->count = 1;
  for (int32_t i = 0; i < value->rank; ++i) program->count *= value->dims[i];
  *out = program;
  return INLAY_OK;
}

static void destroy_program(inlay_program* program) { free(program); }

static inlay_status program_info(inlay_program* program, inlay_program_info* out) {
  (void)program;
  out->workspace_bytes = 0;
  out->retains_constants = 0;
  out->is_deterministic = 1;
  return INLAY_OK;
}

static inlay_status create_instance(inlay_program* program, void* workspace, inlay_error* error,
                                    inlay_instance** out) {
  (void)workspace;
  inlay_instance* instance = malloc(sizeof(*instance));
  if (instance == NULL) return fail(error, INLAY_NO_MEMORY, "instance");
  instance->count = program->count;
  *out = instance;
  return INLAY_OK;
}

static void destroy_instance(inlay_instance* instance) { free(instance); }

static inlay_status enqueue(inlay_instance* instance, inlay_stream* stream, int32_t input_count,
                            const inlay_tensor* const* inputs, int32_t output_count,
                            const inlay_tensor* const* outputs, int32_t wait_count,
                            inlay_event* const* waits, uint32_t flags, inlay_run_report* report,
                            inlay_error* error) {
  (void)stream, (void)input_count, (void)output_count, (void)wait_count, (void)waits, (void)flags,
      (void)report;
  (void)error;
  const float* x = inputs[0]->data;
  float* y = outputs[0]->data;
  for (int64_t i = 0; i < instance->count; ++i) y[i] = x[i] < 0.0f ? 0.0f : x[i];
  return INLAY_OK;
}

static const inlay_plugin kPlugin = {
    .struct_size = sizeof(inlay_plugin),
    .abi_major = INLAY_ABI_MAJOR,
    .abi_minor = INLAY_ABI_MINOR,
    .name = PLUGIN_NAME,
    .version = "1.0",
    .init = init,
    .device_info = device_info,
    .create_device = create_device,
    .destroy_device = destroy_device,
    .compile = compile,
    .destroy_program = destroy_program,
    .program_info = program_info,
    .create_instance = create_instance,
    .destroy_instance = destroy_instance,
    .enqueue = enqueue,
};

__attribute__((visibility("default"))) const inlay_plugin* inlay_plugin_query(uint32_t host_major,
                                                                              uint32_t host_minor) {
  (void)host_minor;
  return host_major == INLAY_ABI_MAJOR ? &kPlugin : NULL;
}
