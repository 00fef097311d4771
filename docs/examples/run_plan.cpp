// Runs a plan in C++: run_plan NAME.plan [FOLDER_OF_PLUGINS]
#include <cstdio>

#include "inlay/session.h"

int main(int argc, char** argv) try {
  inlay::RuntimeOptions options;
  if (argc > 2) options.plugins = {argv[2]};
  const inlay::Runtime runtime(options);
  const inlay::Session session(runtime, argc > 1 ? argv[1] : "model.plan");

  std::vector<float> x(dense_bytes(session.inputs()[0].type) / sizeof(float), 1.0f);
  std::vector<float> y(dense_bytes(session.outputs()[0].type) / sizeof(float));
  session.run({{session.inputs()[0].name, x}}, {{session.outputs()[0].name, y}});

  std::printf("%s: %s starts with %g\n", session.model().c_str(), session.outputs()[0].name.c_str(),
              y[0]);
} catch (const inlay::Error& error) {
  std::fprintf(stderr, "%s: %s\n", code_name(error.code()), error.what());
  return 1;
}
