#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "graphs/pattern/pattern.h"
#include "graphs/pattern/pattern_data.h"
#include "tests/graphs/pattern/random_pattern.h"

namespace inlay {
namespace {

PatternText text(std::string match, std::string where = "", std::string layouts = "") {
  PatternText t;
  t.id = "p";
  t.match = std::move(match);
  t.where = std::move(where);
  t.layouts = std::move(layouts);
  return t;
}

std::string error_of(const PatternText& t) {
  try {
    parse_pattern(t);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kCorrupt);
    return e.what();
  }
  return "no error";
}

TEST(PatternParser, KeepsAliasesAlternativesDomainsAndOptions) {
  const Pattern p = parse_pattern(text("[Relu|Clip]?(c=com.acme.Conv(X,W,B?))"));
  ASSERT_TRUE(p.root);
  EXPECT_TRUE(p.root->is_optional);
  EXPECT_EQ(p.root->ops, (std::vector<OpName>{{"", "Relu"}, {"", "Clip"}}));
  const PatternNode& conv = *p.root->operands[0].node;
  EXPECT_EQ(conv.alias, "c");
  EXPECT_EQ(conv.ops, (std::vector<OpName>{{"com.acme", "Conv"}}));
  EXPECT_EQ(conv.operands[2].variable, "B");
  EXPECT_TRUE(conv.operands[2].is_optional);
  EXPECT_EQ(print_match(p), "[Relu|Clip]?(c=com.acme.Conv(X,W,B?))");
}

TEST(PatternParser, BindsProductsTighterThanSums) {
  const Pattern p = parse_pattern(text("MatMul(A,B)", "A: f32[m,k]; m-(k-1)*2==k%16"));
  EXPECT_EQ(to_string(*p.constraints[1]), "m-(k-1)*2==k%16");
  EXPECT_EQ(p.constraints[1]->left.op, '-');
}

TEST(PatternParser, AllDenseIsTheOnlyVariantWithoutLayouts) {
  EXPECT_EQ(parse_pattern(text("Relu(X)")).variants, std::vector<LayoutVariant>{LayoutVariant{}});
}

TEST(PatternParser, ReadsLayoutVariantsAndCpuNeeds) {
  const Pattern p =
      parse_pattern(text("Relu(X)", "", "dense | X:aBcd16b out:aBcd16b @avx512f @!amx_tile"));
  ASSERT_EQ(p.variants.size(), 2U);
  EXPECT_EQ(p.variants[0], LayoutVariant{});
  EXPECT_EQ(p.variants[1].layouts.at("X"), "aBcd16b");
  EXPECT_EQ(p.variants[1].cpu, (std::vector<std::string>{"avx512f", "!amx_tile"}));
}

TEST(PatternParser, ErrorsNamePatternFieldAndColumn) {
  EXPECT_EQ(error_of(text("Relu(MatMul(A x")),
            "pattern 'p': match, column 15: expected ',' or ')', found 'x'");
  EXPECT_EQ(error_of(text("Relu(X")),
            "pattern 'p': match, column 7: expected ',' or ')', found the end");
  EXPECT_EQ(error_of(text("Relu()")),
            "pattern 'p': match, column 6: expected an operator or a variable, found ')'");
  EXPECT_EQ(error_of(text("Relu(X)", "X: f33")),
            "pattern 'p': where, column 4: 'f33' is not a type");
  EXPECT_EQ(error_of(text("Relu(X)", "k%16==0")),
            "pattern 'p': where, column 1: 'k' is not a dimension of any port");
  EXPECT_EQ(error_of(text("Relu(X)", "Y: f32")), "pattern 'p': where, column 1: unknown port 'Y'");
  EXPECT_EQ(error_of(text("Relu(X)", "Conv.group==1")),
            "pattern 'p': where, column 1: 'Conv' is not a node of the pattern");
  EXPECT_EQ(error_of(text("Relu(X)", "X: f32; #")),
            "pattern 'p': where, column 9: unexpected character '#'");
}

TEST(PatternParser, RefusesWhatHasNoMeaning) {
  EXPECT_NE(error_of(text("Add(a=Relu(X),a=Tanh(X))")).find("'a' names two nodes"),
            std::string::npos);
  EXPECT_NE(error_of(text("c=Relu(c)")).find("reads its own output"), std::string::npos);
  EXPECT_NE(error_of(text("Add(a=Relu(b),b=Tanh(a))")).find("reads its own output"),
            std::string::npos);
  EXPECT_NE(error_of(text("Relu?(X)")).find("cannot be optional"), std::string::npos);
  EXPECT_NE(error_of(text("Add(Relu(X),Relu(Y))", "Relu.alpha==1")).find("several nodes"),
            std::string::npos);
  EXPECT_NE(error_of(text("Relu(X)", "", "X:abz")).find("'abz' is not a layout"),
            std::string::npos);
  EXPECT_NE(error_of(text("Relu(X)", "", "Q:abcd")).find("unknown port 'Q'"), std::string::npos);
  EXPECT_NE(error_of(text("^a=Relu(X)")).find("the root is an output"), std::string::npos);
  EXPECT_NE(error_of(text("Relu(^Abs(X))")).find("expected the tap's name"), std::string::npos);
  EXPECT_NE(error_of(text("")).find("exactly one of match and ops"), std::string::npos);
}

TEST(PatternParser, ParsingWhatWasPrintedGivesTheSamePattern) {
  Rng rng(20);
  for (int i = 0; i < 5000; ++i) {
    const Pattern p = random_pattern(rng);
    const PatternText printed = print_pattern(p);
    ASSERT_NO_THROW({
      ASSERT_EQ(parse_pattern(printed), p) << printed.match << "\n"
                                           << printed.where << "\n"
                                           << printed.layouts;
    }) << printed.match
       << "\n"
       << printed.where;
  }
}

TEST(PatternParser, RandomTextIsParsedOrRefusedWithAMessage) {
  const std::vector<std::string> words = {"Relu",
                                          "Conv",
                                          "X",
                                          "W",
                                          "(",
                                          ")",
                                          "[",
                                          "]",
                                          ",",
                                          "?",
                                          "=",
                                          "|",
                                          ".",
                                          ":",
                                          ";",
                                          "f32",
                                          "k",
                                          "==",
                                          "%",
                                          "16",
                                          "const",
                                          "...",
                                          "has",
                                          "rank",
                                          "-",
                                          "1e9",
                                          "\"",
                                          "_",
                                          " ",
                                          "@",
                                          "99999999999999999999"};
  Rng rng(21);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto random_text = [&rng, &words] {
      std::string s;
      for (std::uint64_t n = rng.below(14); n > 0; --n) {
        // Mostly words, so that the parser gets past its first token; sometimes any byte.
        s += rng.below(20) == 0 ? std::string(1, static_cast<char>(rng.below(256)))
                                : words[rng.below(words.size())];
      }
      return s;
    };
    PatternText t = text(rng.below(2) == 0 ? "Relu(Conv(X,W))" : random_text(), random_text(),
                         rng.below(4) == 0 ? random_text() : "");
    t.alias = rng.below(8) == 0 ? random_text() : "";
    try {
      const Pattern p = parse_pattern(t);
      ASSERT_EQ(parse_pattern(print_pattern(p)), p) << t.match << "\n" << t.where;
    } catch (const Error& e) {
      ++refused;
      ASSERT_NE(std::string(e.what()).find("pattern 'p'"), std::string::npos) << e.what();
    }
  }
  EXPECT_GT(refused, 10000);
}

TEST(PatternParser, DeepNestingIsRefusedRatherThanOverflowingTheStack) {
  std::string match;
  for (int i = 0; i < 100000; ++i) match += "Relu(";
  EXPECT_NE(error_of(text(match)).find("nested too deeply"), std::string::npos);
  EXPECT_NE(error_of(text("Relu(X)", std::string(100000, '('))).find("nested too deeply"),
            std::string::npos);
  EXPECT_NE(error_of(text("Relu(X)", std::string(100000, '-'))).find("nested too deeply"),
            std::string::npos);
}

}  // namespace
}  // namespace inlay
