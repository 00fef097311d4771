#include <gtest/gtest.h>

#include "core/run/compare.h"
#include "graphs/pattern/pattern.h"
#include "tests/plugins/region_case.h"

namespace inlay {
namespace {

TEST(OpenblasManifest, EveryPatternAndToleranceParses) {
  PluginBench bench("openblas", 1);
  EXPECT_EQ(bench.manifest().patterns.size(), 5u);
  for (const ManifestPattern& p : bench.manifest().patterns) {
    EXPECT_NO_THROW(parse_pattern({p.id, p.match, p.fuse, p.ops, p.where, p.layouts, p.alias})) << p.id;
    EXPECT_NO_THROW(parse_tolerance(p.tolerance)) << p.id;
  }
}

}  // namespace
}  // namespace inlay
