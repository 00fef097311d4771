#include "search/report/table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <cmath>
#include <cstdlib>
#include <string>

#include "search/report/count.h"

namespace inlay {
namespace {

TEST(Table, ShortensLongNamesInTheMiddleAndLeavesNumbersWhole) {
  Table table({{"time", Align::kRight}, {"node"}});
  table.add({"12.3 us", "encoder.layer.4.attention.self.query.MatMul"});
  EXPECT_EQ(table.text(40),
            "     time  node\n"
            "  12.3 us  encoder.layer.…f.query.MatMul\n");
  EXPECT_EQ(table.text(0), table.text(60)) << "what fits stays";
  EXPECT_EQ(table.text(5), table.text(23)) << "no name below 12 columns";
  EXPECT_EQ(shortened("äöüäöü", 5), "äö…öü");
}

TEST(Table, AlignsColumnsAndLeavesNoTrailingBlanks) {
  Table table({{"plugin"}, {"time", Align::kRight}, {"note"}});
  table.add({"onednn", "1.2 ms", "fast"});
  table.add({"x", "860 us", ""});
  EXPECT_EQ(table.text(),
            "  plugin    time  note\n"
            "  onednn  1.2 ms  fast\n"
            "  x       860 us\n");
}

TEST(Table, CountsCodePointsNotBytes) {
  Table table({{"a"}, {"b"}});
  table.add({"→", "1"});
  table.add({"xy", "2"});
  EXPECT_EQ(table.text(), "  a   b\n  →   1\n  xy  2\n");
}

TEST(Wrapped, BreaksAtBlanksCommasAndBarsAndIndentsTheRest) {
  EXPECT_EQ(wrapped("one two three", 20, 0), "one two three");
  EXPECT_EQ(wrapped("one two three", 8, 0), "one two\nthree");
  EXPECT_EQ(wrapped("[Relu|Tanh|Elu](x,y)", 10, 2), "[Relu|\n  Tanh|\n  Elu](x,\n  y)");
  EXPECT_EQ(wrapped("unbreakable", 4, 0), "unbreakable");
  EXPECT_EQ(wrapped("", 4, 0), "");
}

TEST(CountOf, TakesTheSingularForOneOnly) {
  EXPECT_EQ(count_of(0, "step"), "0 steps");
  EXPECT_EQ(count_of(1, "step"), "1 step");
  EXPECT_EQ(count_of(2, "step"), "2 steps");
  EXPECT_EQ(count_of(1, "copy", "copies"), "1 copy");
  EXPECT_EQ(count_of(0, "copy", "copies"), "0 copies");
}

TEST(FormatNs, KeepsThreeDigitsAndItsUnit) {
  EXPECT_EQ(format_ns(0), "0.00 ns");
  EXPECT_EQ(format_ns(999.6), "1.00 us");
  EXPECT_EQ(format_ns(12345), "12.3 us");
  EXPECT_EQ(format_ns(123456789), "123 ms");
  EXPECT_EQ(format_ns(2.5e9), "2.50 s");
}

TEST(FormatNs, PrintsWhatItIsWithinHalfAUnitOfTheLastDigit) {
  for (double ns = 1; ns < 1e12; ns *= 1.37) {
    const std::string text = format_ns(ns);
    const double scale = text.ends_with(" ns")   ? 1
                         : text.ends_with(" us") ? 1e3
                         : text.ends_with(" ms") ? 1e6
                                                 : 1e9;
    EXPECT_NEAR(std::atof(text.c_str()) * scale, ns, 0.0051 * ns) << text;
  }
}

TEST(FormatFlops, ChoosesTheUnit) {
  EXPECT_EQ(format_flops(8.18e9), "8.18 GFLOPs");
  EXPECT_EQ(format_flops(43.1e6), "43.1 MFLOPs");
  EXPECT_EQ(format_flops(0), "0 FLOPs");
}

TEST(FormatBytes, ChoosesDecimalUnits) {
  EXPECT_EQ(format_bytes(12), "12 B");
  EXPECT_EQ(format_bytes(1500), "1.50 kB");
  EXPECT_EQ(format_bytes(102e6), "102 MB");
  EXPECT_EQ(format_bytes(3.25e9), "3.25 GB");
}

TEST(Table, CellsStayInTheirLine) {
  Table table({{"node"}, {"op"}});
  table.add({"a\x1b[2J\nb\xff", "Relu"});
  table.add({std::string(100000, 'n'), "Relu"});
  const std::string text = table.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("a\\x1b[2J; b\\xff"), std::string::npos) << text;
  EXPECT_LT(text.size(), 2000u);
}

}  // namespace
}  // namespace inlay
