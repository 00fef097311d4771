#include "core/sdk/cpu_fingerprint.h"

#include <gtest/gtest.h>

namespace inlay::sdk {
namespace {

TEST(CpuFingerprint, HasTheBrandAndIsTheSameEachTime) {
  const std::string fingerprint = cpu_fingerprint();
  EXPECT_EQ(fingerprint, cpu_fingerprint());
  EXPECT_EQ(fingerprint.rfind(cpu_brand() + ";", 0), 0u) << fingerprint;
  EXPECT_NE(cpu_brand().front(), ' ');
  EXPECT_NE(cpu_brand().back(), ' ');
}

TEST(CpuFingerprint, FitsTheAbisField) {
  inlay_device_info info{};
  info.struct_size = sizeof(info);
  describe_cpu_device(&info);
  EXPECT_EQ(info.fingerprint, cpu_fingerprint());
  EXPECT_STREQ(info.name, "cpu");
  EXPECT_STREQ(info.space, "host");
}

TEST(CpuFingerprint, IsWrittenNoFurtherThanTheCallersStruct) {
  inlay_device_info info{};
  info.struct_size = offsetof(inlay_device_info, fingerprint);
  describe_cpu_device(&info);
  EXPECT_STREQ(info.space, "host");
  EXPECT_EQ(info.fingerprint[0], '\0');
}

}  // namespace
}  // namespace inlay::sdk
