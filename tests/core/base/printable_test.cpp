#include "core/base/printable.h"

#include <gtest/gtest.h>

namespace inlay {
namespace {

TEST(Printable, OrdinaryTextStays) {
  for (const char* text : {"", "layer1.0/conv", "日本語", "naïve", "a b", "😀", "~"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, WhatWouldMoveTheCursorIsEscaped) {
  EXPECT_EQ(printable("in\x1b[2Jput"), "in\\x1b[2Jput");
  EXPECT_EQ(printable("a\rb\tc\x7f"), "a\\x0db\\x09c\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");  // CSI as one character
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "txt"),
            "\\xe2\\x80\\xaetxt");  // right to left
}

TEST(Printable, LinesBecomeOne) {
  EXPECT_EQ(printable("in\n  next"), "in; next");
  EXPECT_EQ(printable("found:\n  that \n"), "found: that");
  EXPECT_EQ(printable("\n\n"), "");
  EXPECT_EQ(printable("a\xe2\x80\xa8"
                      "b"),
            "a\\xe2\\x80\\xa8"
            "b");
}

TEST(Printable, WhatIsNotUtf8IsEscapedByteByByte) {
  EXPECT_EQ(printable("a\xff"
                      "b"),
            "a\\xffb");
  EXPECT_EQ(printable("\xc3"), "\\xc3");                    // cut short
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // longer than need be
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half of a pair
  EXPECT_EQ(printable("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");
  EXPECT_EQ(printable("\xe6\x97z"), "\\xe6\\x97z");
}

TEST(Printable, TheMiddleOfALongTextIsLeftOut) {
  EXPECT_EQ(printable("abcdefgh", 8), "abcdefgh");
  EXPECT_EQ(printable("abcdefghi", 5), "ab…hi");
  EXPECT_EQ(printable("日本語日本語", 3), "日…語");
  EXPECT_EQ(printable("\x1b\x1b\x1b\x1b", 3), "\\x1b…\\x1b");
  const std::string long_name = printable_name(std::string(1 << 20, 'n'));
  EXPECT_LT(long_name.size(), 300u);
}

}  // namespace
}  // namespace inlay
