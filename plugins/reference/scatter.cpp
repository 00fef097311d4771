// ScatterElements and ScatterND. Updates of one element combine in the order of the updates; floats
// in double, rounded once at the end.
#include <cmath>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "plugins/reference/element.h"
#include "plugins/reference/indices.h"
#include "plugins/reference/operators.h"
#include "plugins/reference/walk.h"

namespace inlay::reference {
namespace {

enum class Combine { kReplace, kAdd, kMul, kMax, kMin };

Combine read_reduction(const Operation& op) {
  const std::string_view name = op.node().get_string("reduction", "none");
  if (name == "none") return Combine::kReplace;
  if (name == "add") return Combine::kAdd;
  if (name == "mul") return Combine::kMul;
  if (name == "max") return Combine::kMax;
  if (name == "min") return Combine::kMin;
  throw sdk::Decline(op.title() + ": unknown reduction '" + std::string(name) + "'");
}

template <typename C>
C combine(Combine how, C a, C b) {
  using W = std::conditional_t<std::is_floating_point_v<C>, C, std::uint64_t>;
  if constexpr (std::is_floating_point_v<C>) {
    if (std::isnan(a) || std::isnan(b)) return a + b;
  }
  switch (how) {
    case Combine::kAdd:
      return static_cast<C>(W(a) + W(b));
    case Combine::kMul:
      return static_cast<C>(W(a) * W(b));
    case Combine::kMax:
      return a > b ? a : b;
    case Combine::kMin:
      return a < b ? a : b;
    default:
      return b;
  }
}

// y = x with updates[u * block ...] put at targets[u] ..., both in elements.
void scatter(const Run& run, const Type& x, Combine how, std::int64_t block,
             const std::vector<std::int64_t>& targets) {
  const std::size_t size = size_of(x.dtype);
  if (x.count() == 0) return;
  if (how == Combine::kReplace) {
    std::byte* out = run.out<std::byte>(0);
    std::memcpy(out, run.in(0), x.count() * size);
    for (std::size_t u = 0; u < targets.size(); ++u) {
      std::memcpy(out + targets[u] * size, run.in<std::byte>(2) + u * block * size, block * size);
    }
    return;
  }
  with_compute_type(x.dtype, [&]<typename C>(C) {
    std::vector<C> values = load_all<C>(x.dtype, run.in(0), x.count());
    const auto count = static_cast<std::int64_t>(targets.size()) * block;
    const std::vector<C> updates = load_all<C>(x.dtype, run.in(2), count);
    for (std::int64_t i = 0; i < count; ++i) {
      C& value = values[targets[i / block] + i % block];
      value = combine(how, value, updates[i]);
    }
    store(x.dtype, run.out(0), 0, 1, x.count(), values.data());
  });
}

}  // namespace

Body compile_scatter_elements(const Operation& op) {
  const Type x = op.input(0), indices = op.input(1);
  const int axis = op.axis(x.rank());
  const Combine how = read_reduction(op);
  if (indices.rank() != x.rank() || op.input(2).dims != indices.dims) {
    throw sdk::Decline(op.title() +
                       ": indices and updates must have the input's rank and one shape");
  }
  for (int d = 0; d < x.rank(); ++d) {
    if (d != axis && indices.dims[d] > x.dims[d]) {
      throw sdk::Decline(op.title() + ": indices exceed the input along axis " + std::to_string(d));
    }
  }
  Dims strides = row_major_strides(x.dims);
  const std::int64_t axis_stride = strides[axis];
  strides[axis] = 0;
  const Walk walk(indices.dims, {strides}, {0});
  return [=, title = op.title()](const Run& run) {
    std::vector<std::int64_t> targets = load_indices(title, indices, run.in(1), {x.dims[axis]});
    walk.for_each_run(0, walk.count(), walk.count(),
                      [&](std::int64_t to, const std::int64_t* from, std::int64_t length) {
                        for (std::int64_t i = 0; i < length; ++i) {
                          std::int64_t& target = targets[to + i];
                          target = target * axis_stride + from[0] + i * walk.inner_stride(0);
                        }
                      });
    scatter(run, x, how, 1, targets);
  };
}

Body compile_scatter_nd(const Operation& op) {
  const Type x = op.input(0), indices = op.input(1);
  const Combine how = read_reduction(op);
  if (indices.rank() == 0 || indices.dims.back() > x.rank()) {
    throw sdk::Decline(op.title() + ": index tuples do not fit the input's rank");
  }
  const int depth = static_cast<int>(indices.dims.back());
  const std::int64_t tuples = indices.count(0, indices.rank() - 1);
  const std::int64_t block = x.count(depth, x.rank());
  if (op.input(2).count() != tuples * block) {
    throw sdk::Decline(op.title() + ": expected " + std::to_string(tuples * block) +
                       " updates, found " + std::to_string(op.input(2).count()));
  }
  const Dims strides = row_major_strides(x.dims);
  const Dims extents(x.dims.begin(), x.dims.begin() + depth);
  return [=, title = op.title()](const Run& run) {
    const auto chosen =
        depth == 0 ? std::vector<std::int64_t>{} : load_indices(title, indices, run.in(1), extents);
    std::vector<std::int64_t> targets(tuples);
    for (std::int64_t t = 0; t < tuples; ++t) {
      for (int d = 0; d < depth; ++d) targets[t] += chosen[t * depth + d] * strides[d];
    }
    scatter(run, x, how, block, targets);
  };
}

}  // namespace inlay::reference
