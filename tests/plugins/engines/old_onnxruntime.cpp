// What the onnxruntime plugin looks at first, of a version that it does not know.
#include <cstdint>

namespace {

struct ApiBase {
  const void* (*get_api)(std::uint32_t version);
  const char* (*version)();
};

const void* get_api(std::uint32_t) { return nullptr; }
const char* version() { return "1.9.0"; }

}  // namespace

extern "C" const ApiBase* OrtGetApiBase() {
  static constexpr ApiBase kBase{get_api, version};
  return &kBase;
}
