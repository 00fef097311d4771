#include "core/sdk/status.h"

#include <gtest/gtest.h>

namespace inlay::sdk {
namespace {

inlay_error empty() {
  inlay_error error{};
  error.struct_size = sizeof(error);
  return error;
}

template <typename Exception>
std::pair<inlay_status, std::string> thrown(const Exception& exception) {
  inlay_error error = empty();
  const inlay_status status = guarded(&error, [&] { throw exception; });
  EXPECT_EQ(error.code, status);
  return {status, error.text};
}

using Answer = std::pair<inlay_status, std::string>;

TEST(Guarded, TurnsExceptionsIntoStatusesWithTheirText) {
  EXPECT_EQ(thrown(Decline("not today")), Answer(INLAY_DECLINED, "not today"));
  EXPECT_EQ(thrown(InvalidCall("no device")), Answer(INLAY_INVALID, "no device"));
  EXPECT_EQ(thrown(std::bad_alloc()), Answer(INLAY_NO_MEMORY, "out of memory"));
  EXPECT_EQ(thrown(std::logic_error("bent")), Answer(INLAY_INTERNAL, "bent"));
  EXPECT_EQ(thrown(42), Answer(INLAY_INTERNAL, "unknown exception"));
}

TEST(Guarded, LeavesTheErrorAloneWhenNothingIsThrown) {
  inlay_error error = empty();
  error.code = 77;
  EXPECT_EQ(guarded(&error, [] {}), INLAY_OK);
  EXPECT_EQ(error.code, 77);
  EXPECT_STREQ(error.text, "");
}

TEST(Fail, CutsALongTextBetweenCharacters) {
  inlay_error error = empty();
  // 502 bytes, then a character of two bytes, of which only one would fit beside the terminator.
  const std::string text = std::string(502, 'a') + "\xC3\xA9" + "tail";
  fail(&error, INLAY_INTERNAL, text.c_str());
  EXPECT_EQ(error.text, std::string(502, 'a'));
}

TEST(Fail, WritesNoFurtherThanTheCallersStruct) {
  inlay_error error{};
  error.struct_size = offsetof(inlay_error, text);
  EXPECT_EQ(fail(&error, INLAY_INVALID, "text"), INLAY_INVALID);
  EXPECT_EQ(error.code, INLAY_INVALID);
  EXPECT_EQ(error.text[0], '\0');
  EXPECT_EQ(fail(nullptr, INLAY_INVALID, "text"), INLAY_INVALID);
}

TEST(RefuseOptions, NamesTheOption) {
  const inlay_option option{sizeof(inlay_option), "tile", "8"};
  const inlay_option* const options[] = {&option};
  EXPECT_NO_THROW(refuse_options(0, nullptr));
  try {
    refuse_options(1, options);
    FAIL() << "no error";
  } catch (const InvalidCall& error) {
    EXPECT_STREQ(error.what(), "unknown option 'tile'");
  }
}

}  // namespace
}  // namespace inlay::sdk
