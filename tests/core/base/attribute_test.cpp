#include "core/base/attribute.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace inlay {
namespace {

const Attributes kAttributes{
    {"group", std::int64_t{3}},           {"alpha", 0.5f},
    {"mode", std::string("max")},         {"pads", std::vector<std::int64_t>{1, 2}},
    {"scales", std::vector<float>{2.0f}}, {"names", std::vector<std::string>{"a", "b"}}};

TEST(Attribute, IsReadByKindAndAbsentOnesGiveTheDefault) {
  EXPECT_EQ(get_int(kAttributes, "group", 1), 3);
  EXPECT_EQ(get_int(kAttributes, "absent", 7), 7);
  EXPECT_EQ(get_float(kAttributes, "alpha", 1.0f), 0.5f);
  EXPECT_EQ(get_string(kAttributes, "mode", "avg"), "max");
  EXPECT_EQ(get_string(kAttributes, "absent", "avg"), "avg");
  EXPECT_EQ(get_ints(kAttributes, "pads", {}), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(get_floats(kAttributes, "absent", {4.0f}), (std::vector<float>{4.0f}));
  EXPECT_TRUE(has(kAttributes, "pads"));
  EXPECT_FALSE(has(kAttributes, "pad"));
}

TEST(Attribute, OfAnotherKindIsAnErrorThatNamesAttributeAndKinds) {
  try {
    get_int(kAttributes, "pads", 0);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    for (const char* part : {"'pads'", "expected int", "found ints", "[1, 2]"}) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
}

TEST(Attribute, PrintsAsPeopleWriteIt) {
  EXPECT_EQ(to_string(Attribute(std::int64_t{-1})), "-1");
  EXPECT_EQ(to_string(Attribute(0.5f)), "0.5");
  EXPECT_EQ(to_string(Attribute(std::string("max"))), "\"max\"");
  EXPECT_EQ(to_string(Attribute(std::vector<std::int64_t>{1, 2})), "[1, 2]");
  EXPECT_EQ(to_string(Attribute(Tensor::from<float>({2}, {1, 2}))), "f32[2]");
}

}  // namespace
}  // namespace inlay
