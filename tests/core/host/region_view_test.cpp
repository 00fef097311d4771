#include "core/host/region_view.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/base/error.h"
#include "core/sdk/region.h"

namespace inlay {
namespace {

RegionValue value(std::string name, std::string port, TensorType type) {
  const int rank = static_cast<int>(type.shape.size());
  return {.name = std::move(name),
          .port = std::move(port),
          .type = std::move(type),
          .layout = Layout::dense(rank),
          .is_constant = false,
          .constant = std::nullopt};
}

// y = Conv(x, w) with every kind of attribute, and a second node with an omitted input and an
// unread output.
Region sample() {
  Region region;
  region.pattern = "conv";
  region.values = {value("x", "X", {DType::kF32, {1, 2, 3, 3}}),
                   value("w", "W", {DType::kF32, {2}}), value("y", "out", {DType::kF32, {}})};
  region.values[0].layout = *parse_layout("aBcd2b");
  region.values[1].is_constant = true;
  region.values[1].constant = Tensor::from<float>({2}, {5, 6});
  region.nodes = {{.name = "c1",
                   .domain = "",
                   .op = "Conv",
                   .inputs = {0, 1, -1},
                   .outputs = {2, -1},
                   .attributes = {{"group", std::int64_t{2}},
                                  {"alpha", 0.5f},
                                  {"mode", std::string("max")},
                                  {"pads", std::vector<std::int64_t>{1, 2, 3}},
                                  {"scales", std::vector<float>{4.0f}},
                                  {"names", std::vector<std::string>{"a", "bc"}},
                                  {"none", std::vector<std::int64_t>{}},
                                  {"table", Tensor::from<std::int64_t>({2}, {7, 8})}}}};
  region.inputs = {0};
  region.outputs = {2};
  return region;
}

Attribute attribute_from(const inlay_attribute& a) {
  const auto count = static_cast<std::size_t>(a.count);
  switch (a.kind) {
    case INLAY_ATTRIBUTE_INT:
      return a.ints[0];
    case INLAY_ATTRIBUTE_FLOAT:
      return a.floats[0];
    case INLAY_ATTRIBUTE_STRING:
      return std::string(a.strings[0]);
    case INLAY_ATTRIBUTE_INTS:
      return std::vector<std::int64_t>(a.ints, a.ints + count);
    case INLAY_ATTRIBUTE_FLOATS:
      return std::vector<float>(a.floats, a.floats + count);
    case INLAY_ATTRIBUTE_STRINGS:
      return std::vector<std::string>(a.strings, a.strings + count);
    default:
      break;
  }
  const inlay_tensor& t = *a.tensor;
  Tensor tensor = Tensor::zeros({static_cast<DType>(t.dtype), Shape(t.dims, t.dims + t.rank)});
  std::memcpy(tensor.mutable_bytes().data(), t.data, t.size_bytes);
  return tensor;
}

// The region as a plugin could rebuild it from the C structs alone.
Region region_from(const inlay_region& c) {
  Region region;
  region.pattern = c.pattern_id;
  for (int i = 0; i < c.value_count; ++i) {
    const inlay_value& v = *c.values[i];
    RegionValue made{.name = v.name,
                     .port = v.port == nullptr ? "" : v.port,
                     .type = {static_cast<DType>(v.dtype), Shape(v.dims, v.dims + v.rank)},
                     .layout = *parse_layout(v.layout->text),
                     .is_constant = v.constant != nullptr,
                     .constant = std::nullopt};
    if (v.constant != nullptr) {
      made.constant = Tensor::zeros(made.type);
      std::memcpy(made.constant->mutable_bytes().data(), v.constant->data, v.constant->size_bytes);
    }
    region.values.push_back(std::move(made));
  }
  for (int i = 0; i < c.node_count; ++i) {
    const inlay_node& n = *c.nodes[i];
    RegionNode made{.name = n.name,
                    .domain = n.domain,
                    .op = n.op,
                    .inputs = std::vector<int>(n.inputs, n.inputs + n.input_count),
                    .outputs = std::vector<int>(n.outputs, n.outputs + n.output_count),
                    .attributes = {}};
    for (int k = 0; k < n.attribute_count; ++k) {
      made.attributes.emplace(n.attributes[k]->name, attribute_from(*n.attributes[k]));
    }
    region.nodes.push_back(std::move(made));
  }
  region.inputs.assign(c.inputs, c.inputs + c.input_count);
  region.outputs.assign(c.outputs, c.outputs + c.output_count);
  return region;
}

TEST(RegionView, HoldsAllThatTheRegionHolds) {
  const Region region = sample();
  const RegionView view(region);
  EXPECT_EQ(region_from(*view.get()), region);
}

TEST(RegionView, OutlivesTheRegionItWasMadeOf) {
  auto region = std::make_unique<Region>(sample());
  const RegionView view(*region);
  region.reset();
  EXPECT_EQ(region_from(*view.get()), sample());
}

TEST(RegionView, EveryStructStatesItsSize) {
  const RegionView view(sample());
  const inlay_region& c = *view.get();
  EXPECT_EQ(c.struct_size, sizeof(inlay_region));
  EXPECT_EQ(c.values[1]->struct_size, sizeof(inlay_value));
  EXPECT_EQ(c.values[1]->layout->struct_size, sizeof(inlay_layout));
  EXPECT_EQ(c.values[1]->constant->struct_size, sizeof(inlay_tensor));
  EXPECT_EQ(c.nodes[0]->struct_size, sizeof(inlay_node));
  EXPECT_EQ(c.nodes[0]->attributes[0]->struct_size, sizeof(inlay_attribute));
}

TEST(RegionView, LayoutsAreGivenAsOrderAndBlocks) {
  const RegionView view(sample());
  const inlay_layout& layout = *view.get()->values[0]->layout;
  ASSERT_EQ(layout.rank, 4);
  EXPECT_EQ(layout.order[1], 1);
  ASSERT_EQ(layout.block_count, 1);
  EXPECT_EQ(layout.block_dims[0], 1);
  EXPECT_EQ(layout.block_sizes[0], 2);
}

TEST(RegionView, SharesAlignedDenseConstantsAndHashesThem) {
  const Region region = sample();
  const RegionView view(region);
  const inlay_value& weight = *view.get()->values[1];
  EXPECT_EQ(weight.constant->data, static_cast<const void*>(region.values[1].constant->data()));
  const Hash hash = hash_of(region.values[1].constant->bytes());
  EXPECT_EQ(weight.constant_hash[0], hash.high);
  EXPECT_EQ(weight.constant_hash[1], hash.low);
  EXPECT_EQ(view.get()->values[0]->constant_hash, nullptr);
}

TEST(RegionView, AlignsAConstantThatLiesAnywhere) {
  Region region = sample();
  const Tensor storage = Tensor::from<float>({3}, {0, 5, 6});
  region.values[1].constant = Tensor(
      {DType::kF32, {2}},
      std::shared_ptr<const std::byte>(std::make_shared<Tensor>(storage), storage.data() + 4));
  const RegionView view(region);
  const inlay_tensor& constant = *view.get()->values[1]->constant;
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(constant.data) % 64, 0u);
  EXPECT_EQ(static_cast<const float*>(constant.data)[0], 5.0f);
  EXPECT_EQ(static_cast<const float*>(constant.data)[1], 6.0f);
}

TEST(RegionView, LaysAConstantOutAsItsValueSays) {
  Region region = sample();
  region.values[1].type = {DType::kF32, {2, 3}};
  region.values[1].constant = Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  region.values[1].layout = *parse_layout("bA4a");
  const RegionView view(region);
  const inlay_tensor& constant = *view.get()->values[1]->constant;
  ASSERT_EQ(constant.size_bytes, 12 * sizeof(float));
  const std::vector<float> expected{1, 4, 0, 0, 2, 5, 0, 0, 3, 6, 0, 0};
  const auto* data = static_cast<const float*>(constant.data);
  EXPECT_EQ(std::vector<float>(data, data + 12), expected);
}

TEST(RegionView, AnEmptyConstantHasAnAddress) {
  Region region = sample();
  region.values[1].type = {DType::kF32, {0}};
  region.values[1].constant = Tensor({DType::kF32, {0}}, nullptr);
  const RegionView view(region);
  EXPECT_NE(view.get()->values[1]->constant->data, nullptr);
  EXPECT_EQ(view.get()->values[1]->constant->size_bytes, 0u);
}

TEST(RegionView, NamesAConstantWithoutBytesOrOfAnotherType) {
  for (const bool is_absent : {true, false}) {
    Region region = sample();
    region.values[1].constant.reset();
    if (!is_absent) region.values[1].constant = Tensor::from<float>({1}, {1});
    try {
      const RegionView view(region);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find("constant 'w'"), std::string::npos);
    }
  }
}

TEST(RegionView, IsWhatTheSdkReads) {
  const RegionView view(sample());
  const sdk::RegionView region(view.get());
  EXPECT_EQ(region.pattern(), "conv");
  EXPECT_EQ(region.port("W").constant_as<float>()[1], 6.0f);
  EXPECT_FALSE(region.find_port("B"));
  EXPECT_THROW(region.port("B"), sdk::Decline);
  EXPECT_EQ(region.input_position(0), 0);
  EXPECT_EQ(region.input_position(1), -1);
  const sdk::NodeView node = *region.find("Conv");
  EXPECT_EQ(node.get_int("group", 1), 2);
  EXPECT_EQ(node.get_int("pads", 9), 9);  // another kind
  EXPECT_EQ(node.get_string("mode", ""), "max");
  EXPECT_EQ(node.get_ints("pads").size(), 3u);
  EXPECT_EQ(node.get_floats("scales")[0], 4.0f);
  EXPECT_EQ(node.input(2), -1);
  EXPECT_EQ(node.input(3), -1);
}

}  // namespace
}  // namespace inlay
