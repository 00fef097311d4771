#include "graphs/ir/op_table.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "core/base/error.h"
#include "graphs/ir/infer.h"

namespace inlay {
namespace {

// The operators named in the first column of docs/operators.md, but for those it says are never in
// a graph.
std::set<std::string> documented_ops() {
  std::ifstream file(INLAY_SOURCE_DIR "/docs/operators.md");
  std::set<std::string> ops;
  bool is_table_of_operators = false;  // among other tables
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("| operator", 0) == 0) is_table_of_operators = true;
    if (line.empty()) is_table_of_operators = false;
    if (!is_table_of_operators || line.rfind("| ", 0) != 0 || line.rfind("| operator", 0) == 0) {
      continue;
    }
    std::stringstream cell(line.substr(2, line.find(" |", 2) - 2));
    for (std::string op; std::getline(cell, op, ',');) {
      const std::string name = std::regex_replace(op, std::regex("^ *(inlay\\.)?| *$"), "");
      ops.insert(name);
    }
  }
  for (const char* folded : {"Range", "ConstantOfShape", "Shape", "Size"}) ops.erase(folded);
  return ops;
}

TEST(OpTable, HoldsExactlyTheDocumentedOperators) {
  std::set<std::string> table;
  for (const OpInfo& info : all_ops()) table.emplace(info.name);
  EXPECT_EQ(table, documented_ops());
  EXPECT_EQ(table.size(), all_ops().size());
}

TEST(OpTable, EveryOperatorHasInference) {
  for (const OpInfo& info : all_ops()) {
    Node node;
    node.op = info.name;
    node.domain = info.name == "Convert" ? "inlay" : "";
    const std::vector<TensorType> inputs(static_cast<std::size_t>(info.min_inputs),
                                         {DType::kF32, {2, 2}});
    try {
      fill_default_attributes(node, inputs);
      infer_types(node, inputs, info.min_outputs);
    } catch (const Error& error) {  // a complaint about operands or attributes is fine
      EXPECT_NE(error.code(), Code::kUnsupported) << error.what();
    }
  }
}

TEST(OpTable, KnowsNoOperatorOutsideIt) {
  EXPECT_EQ(find_op("Dropout"), nullptr);
  EXPECT_EQ(find_op(""), nullptr);
  ASSERT_NE(find_op("Add"), nullptr);
  EXPECT_TRUE(find_op("Add")->is_commutative);
  EXPECT_FALSE(find_op("Sub")->is_commutative);
  EXPECT_TRUE(find_op("Reshape")->is_view);
}

std::string message_of(const Node& node) {
  try {
    check_attributes(node, *find_op(node.op));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(CheckAttributes, NamesTheMissingTheMistypedAndTheUnknown) {
  Node node;
  node.name = "s";
  node.op = "Softmax";
  EXPECT_EQ(message_of(node), "Softmax 's': attribute 'axis' is missing");
  node.attributes["axis"] = 1.0f;
  EXPECT_EQ(message_of(node), "Softmax 's': attribute 'axis': expected int, found float 1");
  node.attributes["axis"] = std::int64_t{1};
  EXPECT_EQ(message_of(node), "");
  node.attributes["auto_pad"] = std::string("VALID");
  EXPECT_EQ(message_of(node),
            "Softmax 's': attribute 'auto_pad' = \"VALID\" is not part of the canonical form");
}

TEST(FillDefaultAttributes, CompletesAConvolutionAndLeavesWhatIsThere) {
  Node node;
  node.op = "Conv";
  node.attributes["strides"] = std::vector<std::int64_t>{2, 2};
  fill_default_attributes(node, {{DType::kF32, {1, 4, 9, 9}}, {DType::kF32, {8, 4, 3, 5}}});
  const Attributes expected = {{"kernel_shape", std::vector<std::int64_t>{3, 5}},
                               {"strides", std::vector<std::int64_t>{2, 2}},
                               {"pads", std::vector<std::int64_t>{0, 0, 0, 0}},
                               {"dilations", std::vector<std::int64_t>{1, 1}},
                               {"group", std::int64_t{1}}};
  EXPECT_EQ(node.attributes, expected);
}

TEST(FillDefaultAttributes, GivesEachDirectionOfALstmItsActivations) {
  Node node;
  node.op = "LSTM";
  node.attributes["direction"] = std::string("bidirectional");
  fill_default_attributes(node, {{DType::kF32, {5, 1, 3}}});
  EXPECT_EQ(std::get<std::vector<std::string>>(node.attributes.at("activations")),
            (std::vector<std::string>{"Sigmoid", "Tanh", "Tanh", "Sigmoid", "Tanh", "Tanh"}));
}

}  // namespace
}  // namespace inlay
