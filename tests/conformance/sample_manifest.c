/* The sample plugin's manifest: without a terminating NUL, so that spaces may follow. The tests change
 * single words of it in copies of the library; "xfaix" is one that the host passes over. */
#define MANIFEST                                                                                  \
  "{\"abi\":[1,0],\"name\":\"sample\",\"version\":\"1.0\",\"library\":\"\","                      \
  "\"threads\":\"host-pool\",\"sanitizer\":\"none\",\"cpu\":[],\"xfaix\":{\"999\":\"none\"},"     \
  "\"patterns\":["                                                                                \
  "{\"id\":\"relu\",\"match\":\"Relu(X)\",\"where\":\"X: f32\",\"tolerance\":\"exact\","          \
  "\"alias\":\"out=X\"},"                                                                         \
  "{\"id\":\"scale\",\"match\":\"Mul(X,S)\",\"where\":\"X: f32; S: f32[1] const\","               \
  "\"tolerance\":\"elementwise\"},"                                                               \
  "{\"id\":\"negate\",\"match\":\"Neg(X)\",\"where\":\"X: f32\",\"tolerance\":\"exact\","         \
  "\"cpu\":[\"sse4.2\"]}]}"

__attribute__((section(".inlay.manifest"), used)) static const char
    kManifest[sizeof(MANIFEST) - 1] = MANIFEST;
