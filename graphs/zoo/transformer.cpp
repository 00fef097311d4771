// BERT-base (Devlin et al. 2019) and ViT-Ti/16 (Dosovitskiy et al. 2021, Touvron et al. 2021), with
// the attention spelt out as exporters do.
#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "graphs/zoo/architectures.h"
#include "graphs/zoo/network.h"

namespace inlay {
namespace {

constexpr std::int64_t kHeadWidth = 64;

// x [B, S, width] to [B, heads, S, 64], or [B, heads, 64, S].
ValueId split_heads(Network& net, const std::string& name, ValueId x, bool is_transposed) {
  const Shape shape = net.shape(x);
  const ValueId parts = net.builder().reshape(
      name + ".heads", x, {shape[0], shape[1], shape[2] / kHeadWidth, kHeadWidth});
  const Shape perm = is_transposed ? Shape{0, 2, 3, 1} : Shape{0, 2, 1, 3};
  return net.builder().node(name + ".transpose", "Transpose", {parts}, {{"perm", perm}});
}

// Multi-head self-attention. mask: added to the scores, or kNoValue.
ValueId attention(Network& net, const std::string& name, ValueId x, ValueId mask) {
  GraphBuilder& b = net.builder();
  const Shape shape = net.shape(x);
  const auto project = [&](const char* part, bool is_transposed) {
    const std::string projection = name + "." + part;
    return split_heads(net, projection, net.linear(projection, x, shape[2]), is_transposed);
  };
  const ValueId query = project("query", false);
  const ValueId key = project("key", true);
  const ValueId value = project("value", false);
  ValueId scores = b.node(name + ".scores", "MatMul", {query, key});
  const ValueId root = net.scalar(name + ".root", std::sqrt(static_cast<float>(kHeadWidth)));
  scores = b.node(name + ".scaled", "Div", {scores, root});
  if (!mask.is_none()) scores = b.node(name + ".masked", "Add", {scores, mask});
  const ValueId weights =
      b.node(name + ".softmax", "Softmax", {scores}, {{"axis", std::int64_t{3}}});
  ValueId y = b.node(name + ".context", "MatMul", {weights, value});
  y = b.node(name + ".context.transpose", "Transpose", {y}, {{"perm", Shape{0, 2, 1, 3}}});
  return net.linear(name + ".output", b.reshape(name + ".context.merge", y, shape), shape[2]);
}

ValueId feed_forward(Network& net, const std::string& name, ValueId x) {
  const std::int64_t width = net.shape(x).back();
  ValueId y = net.linear(name + ".intermediate", x, 4 * width);
  y = net.builder().node(name + ".gelu", "Gelu", {y});
  return net.linear(name + ".output", y, width, std::sqrt(2.0));
}

// The first token of every sequence, [B, width].
ValueId first_token(Network& net, const std::string& name, ValueId x) {
  const ValueId zero = net.builder().constant(name + ".index", Tensor::from<std::int64_t>({}, {0}));
  return net.builder().node(name, "Gather", {x, zero}, {{"axis", std::int64_t{1}}});
}

ValueId bert_embeddings(Network& net, ValueId ids, ValueId types, std::int64_t width) {
  GraphBuilder& b = net.builder();
  constexpr std::int64_t kVocabulary = 30522;
  constexpr std::int64_t kPositions = 512;
  const std::int64_t length = net.shape(ids)[1];
  std::vector<std::int64_t> positions(static_cast<std::size_t>(length));
  std::iota(positions.begin(), positions.end(), 0);
  const auto look_up = [&](const std::string& name, std::int64_t rows, ValueId index) {
    const ValueId table = net.weight("embeddings." + name + ".weight", {rows, width}, 0.02);
    return b.node("embeddings." + name, "Gather", {table, index}, {{"axis", std::int64_t{0}}});
  };
  const ValueId words = look_up("word", kVocabulary, ids);
  const ValueId kinds = look_up("token_type", 2, types);
  const ValueId position_ids =
      b.constant("embeddings.position_ids", Tensor::from<std::int64_t>({1, length}, positions));
  const ValueId places = look_up("position", kPositions, position_ids);
  const ValueId sum = b.node("embeddings.add_token_type", "Add", {words, kinds});
  return net.layer_norm("embeddings.norm", b.node("embeddings.add_position", "Add", {sum, places}),
                        1e-12f);
}

// 0 where a token counts and -10000 where it is padding, [B, 1, 1, S].
ValueId bert_mask(Network& net, ValueId attention_mask) {
  GraphBuilder& b = net.builder();
  const Shape shape = net.shape(attention_mask);
  ValueId mask = b.reshape("mask.reshape", attention_mask, {shape[0], 1, 1, shape[1]});
  mask = b.node("mask.cast", "Cast", {mask}, {{"to", static_cast<std::int64_t>(DType::kF32)}});
  mask = b.node("mask.sub", "Sub", {net.scalar("mask.one", 1.0f), mask});
  return b.node("mask.mul", "Mul", {mask, net.scalar("mask.large", -10000.0f)});
}

}  // namespace

Graph make_bert_base(const ZooOptions& options) {
  constexpr std::int64_t kWidth = 768;
  constexpr float kEpsilon = 1e-12f;
  Network net("bert_base", options.seed);
  GraphBuilder& b = net.builder();
  const TensorType tokens = {DType::kI64, {options.batch, options.sequence_length}};
  const ValueId ids = b.input("input_ids", tokens);
  const ValueId attention_mask = b.input("attention_mask", tokens);
  const ValueId types = b.input("token_type_ids", tokens);
  const ValueId mask = bert_mask(net, attention_mask);
  ValueId x = bert_embeddings(net, ids, types, kWidth);
  for (int i = 0; i < 12; ++i) {
    const std::string layer = fmt::format("layer{}", i);
    const ValueId attended = attention(net, layer + ".attention", x, mask);
    x = b.node(layer + ".attention.add", "Add", {attended, x});
    x = net.layer_norm(layer + ".attention.norm", x, kEpsilon);
    const ValueId fed = feed_forward(net, layer + ".ffn", x);
    x = b.node(layer + ".ffn.add", "Add", {fed, x});
    x = net.layer_norm(layer + ".ffn.norm", x, kEpsilon);
  }
  const ValueId pooled = net.linear("pooler", first_token(net, "pooler.token", x), kWidth);
  return net.finish({x, b.node("pooler.tanh", "Tanh", {pooled})});
}

Graph make_vit_tiny16(const ZooOptions& options) {
  constexpr std::int64_t kWidth = 192;
  constexpr std::int64_t kPatch = 16;
  constexpr float kEpsilon = 1e-6f;
  Network net("vit_tiny16", options.seed);
  GraphBuilder& b = net.builder();
  const Feature image =
      net.image("input", {options.batch, 3, options.image_size, options.image_size});
  const ValueId patches =
      net.conv("patch_embed", image, kWidth, {.kernel = kPatch, .stride = kPatch, .has_bias = true})
          .value;
  const std::int64_t count = net.shape(patches)[2] * net.shape(patches)[3];
  ValueId x = b.reshape("patch_embed.flatten", patches, {options.batch, kWidth, count});
  x = b.node("patch_embed.transpose", "Transpose", {x}, {{"perm", Shape{0, 2, 1}}});
  ValueId token = net.weight("cls_token", {1, 1, kWidth}, 1.0);
  if (options.batch > 1) {
    Node expand;
    expand.name = "cls_token.expand";
    expand.op = "Expand";
    expand.inputs = {token};
    token = b.node_with_types(expand, {{DType::kF32, {options.batch, 1, kWidth}}}, {})[0];
  }
  x = b.node("cls_token.concat", "Concat", {token, x}, {{"axis", std::int64_t{1}}});
  x = b.node("pos_embed.add", "Add", {x, net.weight("pos_embed", {1, count + 1, kWidth}, 0.5)});
  for (int i = 0; i < 12; ++i) {
    const std::string block = fmt::format("block{}", i);
    ValueId y = net.layer_norm(block + ".norm1", x, kEpsilon);
    x = b.node(block + ".add1", "Add", {x, attention(net, block + ".attention", y, kNoValue)});
    y = net.layer_norm(block + ".norm2", x, kEpsilon);
    x = b.node(block + ".add2", "Add", {x, feed_forward(net, block + ".mlp", y)});
  }
  x = net.layer_norm("norm", x, kEpsilon);
  return net.finish({net.linear("head", first_token(net, "head.token", x), 1000)});
}

}  // namespace inlay
