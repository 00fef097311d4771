// Sums along constant edges, as graph networks take them: ScatterElements with `add`, the Gather
// and Mul that make what it adds, and the Mul that makes what it adds to. All of it is linear in
// the nodes' features: one sparse matrix in rows, times the features.

#include <cstring>
#include <limits>
#include <string>

#include "plugins/onednn/compile.h"
#include "plugins/onednn/primitive_kernel.h"

namespace inlay::onednn {

#ifdef DNNL_EXPERIMENTAL_SPARSE

namespace {

// y[target] += weight * x[source].
struct Edge {
  std::int64_t target, source;
  float weight;
};

struct Aggregation {
  sdk::NodeView scatter;
  sdk::ValueView rows;                    // where each message goes, [messages, columns]
  sdk::ValueView features;                // what is gathered, or the messages themselves
  std::optional<sdk::ValueView> sources;  // the row that each message is made of
  std::optional<sdk::ValueView> weights;  // one a message, or one for all
  std::optional<sdk::ValueView> own;      // one a row: what the sum starts with is own * features
  std::optional<sdk::ValueView> start;    // or this
  std::int64_t targets, messages, columns;
};

std::int64_t index_at(const sdk::ValueView& indices, std::int64_t i, std::int64_t extent) {
  const auto at = static_cast<std::size_t>(i);
  const std::int64_t index = indices.dtype() == INLAY_I64
                                 ? indices.constant_as<std::int64_t>()[at]
                                 : std::int64_t{indices.constant_as<std::int32_t>()[at]};
  const std::int64_t counted = index < 0 ? index + extent : index;
  if (counted < 0 || counted >= extent) throw sdk::Decline("an index is out of range");
  return counted;
}

float factor_at(const std::optional<sdk::ValueView>& factors, std::int64_t i) {
  if (!factors) return 1;
  return factors->constant_as<float>()[static_cast<std::size_t>(factors->count() == 1 ? 0 : i)];
}

void require_one_a_row(const std::optional<sdk::ValueView>& factors, std::int64_t rows) {
  if (!factors || factors->count() == 1) return;
  if (factors->rank() != 2 || factors->dim(0) != rows || factors->dim(1) != 1) {
    throw sdk::Decline("factors that are not one for each row");
  }
}

Aggregation read_aggregation(const sdk::RegionView& region) {
  const sdk::NodeView scatter = *region.find("ScatterElements");
  const sdk::ValueView y = region.value(scatter.outputs()[0]),
                       rows = region.value(scatter.input(1));
  const bool has_gather = region.find("Gather").has_value();
  Aggregation a{scatter,
                rows,
                region.port(has_gather ? "H" : "U"),
                region.find_port("J"),
                region.find_port("E"),
                region.find_port("N"),
                region.find_port("D"),
                y.dim(0),
                rows.dim(0),
                y.dim(1)};
  if (scatter.get_string("reduction", "none") != "add") {
    throw sdk::Decline("ScatterElements: oneDNN can only add");
  }
  if (rows.dim(1) != a.columns || a.features.rank() != 2 || a.features.dim(1) != a.columns ||
      (a.sources && a.sources->rank() != 1) || (a.own && a.features.dim(0) != a.targets)) {
    throw sdk::Decline("rows of different lengths");
  }
  require_one_a_row(a.weights, a.messages);
  require_one_a_row(a.own, a.targets);
  return a;
}

// Exporters repeat a row's index along its columns.
bool moves_rows(const Aggregation& a) {
  for (std::int64_t m = 0; m < a.messages; ++m)
    for (std::int64_t c = 1; c < a.columns; ++c) {
      if (index_at(a.rows, m * a.columns + c, a.targets) !=
          index_at(a.rows, m * a.columns, a.targets)) {
        return false;
      }
    }
  return true;
}

// Of rows, or of single elements where a row's columns go to different places.
//   width  elements that an edge moves
std::vector<Edge> list_edges(const Aggregation& a, std::int64_t width) {
  std::vector<Edge> edges;
  const std::int64_t parts = a.columns / width;
  for (std::int64_t t = 0; a.own && t < a.targets * parts; ++t) {
    edges.push_back({t, t, factor_at(a.own, t / parts)});
  }
  for (std::int64_t m = 0; m < a.messages; ++m) {
    const std::int64_t source = a.sources ? index_at(*a.sources, m, a.features.dim(0)) : m;
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t row = index_at(a.rows, m * a.columns + part, a.targets);
      edges.push_back({row * parts + part, source * parts + part, factor_at(a.weights, m)});
    }
  }
  return edges;
}

// The edges as a matrix [targets, sources] in compressed rows. Edges of one row keep their order.
dnnl::memory make_matrix(const dnnl::engine& engine, const std::vector<Edge>& edges,
                         std::int64_t targets, std::int64_t sources) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  const auto count = static_cast<std::int64_t>(edges.size());
  if (targets > kLargest || sources > kLargest || count > kLargest) {
    throw sdk::Decline("more edges than 32 bits count");
  }
  const dnnl::memory matrix(
      Desc::csr({targets, sources}, DataType::f32, count, DataType::s32, DataType::s32), engine);
  auto* values = static_cast<float*>(matrix.get_data_handle(0));
  auto* columns = static_cast<std::int32_t*>(matrix.get_data_handle(1));
  auto* starts = static_cast<std::int32_t*>(matrix.get_data_handle(2));
  std::vector<std::int32_t> next(static_cast<std::size_t>(targets) + 1, 0);
  for (const Edge& edge : edges) ++next[static_cast<std::size_t>(edge.target) + 1];
  for (std::size_t t = 1; t < next.size(); ++t) next[t] += next[t - 1];
  std::memcpy(starts, next.data(), next.size() * sizeof(std::int32_t));
  for (const Edge& edge : edges) {
    const std::int32_t place = next[static_cast<std::size_t>(edge.target)]++;
    values[place] = edge.weight;
    columns[place] = static_cast<std::int32_t>(edge.source);
  }
  return matrix;
}

void add_start(KernelBuilder& builder, const sdk::ValueView& start, const sdk::ValueView& y) {
  const Desc desc = describe_dense(dims_of(y));
  const dnnl::binary::primitive_desc sum(builder.engine(), dnnl::algorithm::binary_add, desc, desc,
                                         desc, make_attributes());
  builder.bind(DNNL_ARG_SRC_0, y, desc);
  builder.bind(DNNL_ARG_SRC_1, start, desc);
  builder.bind(DNNL_ARG_DST, y, desc);
  builder.add(dnnl::binary(sum), sum.scratchpad_desc());
}

}  // namespace

std::unique_ptr<sdk::Kernel> compile_aggregation(const sdk::RegionView& region) {
  KernelBuilder builder(region);
  const Aggregation a = read_aggregation(region);
  const std::int64_t width = moves_rows(a) ? a.columns : 1, parts = a.columns / width;
  const std::int64_t targets = a.targets * parts, sources = a.features.dim(0) * parts;
  const dnnl::memory matrix = make_matrix(builder.engine(), list_edges(a, width), targets, sources);
  const Desc features = describe_dense({sources, width}), target = describe_dense({targets, width});
  const dnnl::matmul::primitive_desc descriptor(builder.engine(), matrix.get_desc(), features,
                                                target, make_attributes());
  require_optimised(descriptor, "sparse product");
  builder.bind_constant(DNNL_ARG_SRC, matrix);
  builder.bind(DNNL_ARG_WEIGHTS, a.features, features);
  builder.bind(DNNL_ARG_DST, region.output(0), target);
  builder.add(dnnl::matmul(descriptor), descriptor.scratchpad_desc());
  if (a.start) add_start(builder, *a.start, region.output(0));
  return builder.build();
}

#else

std::unique_ptr<sdk::Kernel> compile_aggregation(const sdk::RegionView&) {
  throw sdk::Decline("this oneDNN is built without sparse matrices");
}

#endif

}  // namespace inlay::onednn
