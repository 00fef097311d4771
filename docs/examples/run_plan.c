/* Runs a plan in C: run_plan_c NAME.plan, on the plugins near libinlay.so. One input, one output.
 */
#include <inlay/inlay.h>
#include <stdio.h>
#include <stdlib.h>

static inlay_failure failure = {.struct_size = sizeof failure};

static void check(inlay_code code) {
  if (code == INLAY_CODE_OK) return;
  fprintf(stderr, "error %d: %s\n", (int)code, failure.text);
  exit(1);
}

int main(int argc, char** argv) {
  inlay_runtime* runtime = NULL;
  inlay_session* session = NULL;
  check(inlay_runtime_create(NULL, &runtime, &failure));
  check(inlay_session_open(runtime, argc > 1 ? argv[1] : "model.plan", NULL, &session, &failure));

  inlay_tensor_info in = {.struct_size = sizeof in}, out = {.struct_size = sizeof out};
  check(inlay_session_input_info(session, 0, &in, &failure));
  check(inlay_session_output_info(session, 0, &out, &failure));
  float *x = malloc(in.size_bytes), *y = malloc(out.size_bytes);
  for (size_t i = 0; i < in.size_bytes / sizeof *x; ++i) x[i] = 1.0f;
  const inlay_memory from = {sizeof from, in.type, in.name, in.rank, in.dims, x, in.size_bytes};
  const inlay_memory to = {sizeof to, out.type, out.name, out.rank, out.dims, y, out.size_bytes};
  check(inlay_session_run(session, 1, &(const inlay_memory*){&from}, 1, &(const inlay_memory*){&to},
                          &failure));
  printf("%s starts with %g\n", out.name, y[0]);

  free(x), free(y);
  inlay_session_close(session);
  inlay_runtime_destroy(runtime);
  return 0;
}
