#include <gtest/gtest.h>

#include "core/host/manifest.h"

namespace inlay {
namespace {

// The compiler's run-time library asks the same registers by code of its own.
TEST(CpuFeatures, AgreeWithTheCompiler) {
  EXPECT_EQ(has_cpu_feature("sse3"), __builtin_cpu_supports("sse3") != 0);
  EXPECT_EQ(has_cpu_feature("sse4.1"), __builtin_cpu_supports("sse4.1") != 0);
  EXPECT_EQ(has_cpu_feature("popcnt"), __builtin_cpu_supports("popcnt") != 0);
  EXPECT_EQ(has_cpu_feature("avx"), __builtin_cpu_supports("avx") != 0);
  EXPECT_EQ(has_cpu_feature("avx2"), __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(has_cpu_feature("fma"), __builtin_cpu_supports("fma") != 0);
  EXPECT_EQ(has_cpu_feature("f16c"), __builtin_cpu_supports("f16c") != 0);
  EXPECT_EQ(has_cpu_feature("avx512f"), __builtin_cpu_supports("avx512f") != 0);
  EXPECT_EQ(has_cpu_feature("avx512bw"), __builtin_cpu_supports("avx512bw") != 0);
  EXPECT_EQ(has_cpu_feature("avx512dq"), __builtin_cpu_supports("avx512dq") != 0);
  EXPECT_EQ(has_cpu_feature("avx512vl"), __builtin_cpu_supports("avx512vl") != 0);
  EXPECT_EQ(has_cpu_feature("avx512_vnni"), __builtin_cpu_supports("avx512vnni") != 0);
  EXPECT_EQ(has_cpu_feature("avx512_bf16"), __builtin_cpu_supports("avx512bf16") != 0);
  EXPECT_EQ(has_cpu_feature("amx_tile"), __builtin_cpu_supports("amx-tile") != 0);
  EXPECT_EQ(has_cpu_feature("amx_int8"), __builtin_cpu_supports("amx-int8") != 0);
  EXPECT_EQ(has_cpu_feature("amx_bf16"), __builtin_cpu_supports("amx-bf16") != 0);
}

TEST(CpuFeatures, AnUnknownNameIsAbsent) {
  EXPECT_FALSE(has_cpu_feature("avx4096"));
  EXPECT_FALSE(has_cpu_feature(""));
  EXPECT_FALSE(has_cpu_feature("AVX2"));
}

}  // namespace
}  // namespace inlay
