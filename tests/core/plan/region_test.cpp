#include "core/plan/region.h"

#include <gtest/gtest.h>

#include "tests/core/plan/sample_plan.h"

namespace inlay {
namespace {

Region full_region() {
  Region region = sample_region();
  region.values[1].constant = Tensor::zeros(region.values[1].type);
  return region;
}

// (x + y) · neg(x), in one of two node orders, values numbered either way.
Region two_branches(bool swapped) {
  const TensorType type{DType::kF32, {4, 4}};
  const auto value = [&](const char* name) {
    return RegionValue{name, "", type, Layout::dense(2), false, std::nullopt};
  };
  const RegionNode add{"a", "", "Add", {0, 1}, {swapped ? 3 : 2}, {}};
  const RegionNode neg{"n", "", "Neg", {0}, {swapped ? 2 : 3}, {}};
  const RegionNode mul{"m", "", "Mul", {swapped ? 3 : 2, swapped ? 2 : 3}, {4}, {}};
  Region region;
  region.values = {value("x"), value("y"), value("p"), value("q"), value("r")};
  region.nodes = swapped ? std::vector{neg, add, mul} : std::vector{add, neg, mul};
  region.inputs = {0, 1};
  region.outputs = {4};
  return region;
}

TEST(RegionHash, LeavesNamesOut) {
  Region renamed = full_region();
  for (RegionValue& value : renamed.values) value.name += "_other";
  for (RegionNode& node : renamed.nodes) node.name += "_other";
  EXPECT_EQ(region_hash(full_region(), true), region_hash(renamed, true));
}

TEST(RegionHash, DoesNotDependOnNumberingOrTopologicalOrder) {
  EXPECT_EQ(region_hash(two_branches(false), false), region_hash(two_branches(true), false));
}

TEST(RegionHash, TellsOperandsApart) {
  Region crossed = two_branches(false);
  std::swap(crossed.nodes[2].inputs[0], crossed.nodes[2].inputs[1]);
  EXPECT_NE(region_hash(two_branches(false), false), region_hash(crossed, false));
}

TEST(RegionHash, CountsEverythingThatChangesTheWork) {
  const Region region = full_region();
  const Hash hash = region_hash(region, false);
  const auto expect_other = [&](const char* what, const auto& change) {
    Region other = region;
    change(other);
    EXPECT_NE(region_hash(other, false), hash) << what;
  };
  expect_other("pattern", [](Region& r) { r.pattern = "other"; });
  expect_other("operator", [](Region& r) { r.nodes[1].op = "Neg"; });
  expect_other("domain", [](Region& r) { r.nodes[1].domain = "x"; });
  expect_other("dtype", [](Region& r) { r.values[0].type.dtype = DType::kF16; });
  expect_other("shape", [](Region& r) { r.values[0].type.shape = {32, 4}; });
  expect_other("layout", [](Region& r) { r.values[0].layout = *parse_layout("ba"); });
  expect_other("port", [](Region& r) { r.values[0].port = "Z"; });
  expect_other("attribute", [](Region& r) { r.nodes[2].attributes["to"] = std::int64_t{2}; });
  expect_other("attribute kind", [](Region& r) { r.nodes[2].attributes["to"] = 1.0f; });
  expect_other("no attribute", [](Region& r) { r.nodes[2].attributes.erase("to"); });
  expect_other("constness", [](Region& r) {
    r.values[1].is_constant = false;
    r.values[1].constant.reset();
  });
  expect_other("outputs", [](Region& r) { r.outputs = {3, 5}; });
  expect_other("inline constant",
               [](Region& r) { r.values[4].constant = Tensor::from<float>({}, {3}); });
}

TEST(RegionHash, CountsWeightsOnlyIfAsked) {
  Region other = full_region();
  Tensor weights = Tensor::zeros(other.values[1].type);
  weights.mutable_bytes()[5] = std::byte{1};
  other.values[1].constant = weights;
  EXPECT_EQ(region_hash(full_region(), false), region_hash(other, false));
  EXPECT_NE(region_hash(full_region(), true), region_hash(other, true));
  EXPECT_EQ(region_hash(full_region(), false), region_hash(sample_region(), false));
}

TEST(RegionHash, HandlesAChainOfManyNodes) {
  const TensorType type{DType::kF32, {1}};
  Region region;
  constexpr int kNodes = 40000;
  region.values.assign(kNodes + 1, {"", "", type, Layout::dense(1), false, std::nullopt});
  for (int n = 0; n < kNodes; ++n) region.nodes.push_back({"", "", "Relu", {n}, {n + 1}, {}});
  region.inputs = {0};
  region.outputs = {kNodes};
  Region other = region;
  other.nodes[0].op = "Neg";
  EXPECT_NE(region_hash(region, false), region_hash(other, false));
}

TEST(RegionSummary, ShowsOperatorsAndType) {
  EXPECT_EQ(summary(sample_region()), "Pow(Relu(MatMul(x, w)), two, -) -> f32[4x16]");
}

TEST(RegionSummary, StaysShortForManyNodes) {
  Region region = sample_region();
  for (int n = 0; n < 100; ++n) region.nodes.push_back({"", "", "Relu", {5}, {-1}, {}});
  EXPECT_EQ(summary(region), "103 nodes (MatMul, Relu, Pow, Relu, Relu, Relu, …) -> f32[4x16]");
}

}  // namespace
}  // namespace inlay
