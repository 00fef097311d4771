// Reductions over any axes. Floats accumulate in double, integers in 64 bits that wrap.
#include <algorithm>
#include <cmath>
#include <string_view>
#include <type_traits>

#include "plugins/reference/element.h"
#include "plugins/reference/operators.h"
#include "plugins/reference/walk.h"

namespace inlay::reference {
namespace {

enum class Reduction { kSum, kMean, kMax, kMin, kProd, kL1, kL2, kLogSum, kLogSumExp, kSumSquare };

constexpr std::pair<std::string_view, Reduction> kReductions[] = {
    {"ReduceSum", Reduction::kSum},
    {"ReduceMean", Reduction::kMean},
    {"ReduceMax", Reduction::kMax},
    {"ReduceMin", Reduction::kMin},
    {"ReduceProd", Reduction::kProd},
    {"ReduceL1", Reduction::kL1},
    {"ReduceL2", Reduction::kL2},
    {"ReduceLogSum", Reduction::kLogSum},
    {"ReduceLogSumExp", Reduction::kLogSumExp},
    {"ReduceSumSquare", Reduction::kSumSquare}};

bool needs_logarithm_or_root(Reduction reduction) {
  return reduction == Reduction::kL2 || reduction == Reduction::kLogSum ||
         reduction == Reduction::kLogSumExp;
}

// The elements that go into one result, in row-major order.
template <typename C>
struct Group {
  const Type& x;
  const void* data;
  const Walk& walk;
  std::int64_t base;

  template <typename F>
  void for_each(F&& f) const {
    C chunk[kChunk];
    walk.for_each_run(0, walk.count(), kChunk,
                      [&](std::int64_t, const std::int64_t* from, std::int64_t length) {
                        load(x.dtype, data, base + from[0], walk.inner_stride(0), length, chunk);
                        for (std::int64_t i = 0; i < length; ++i) f(chunk[i]);
                      });
  }
};

template <typename C>
C extreme(const Group<C>& group, bool is_max) {
  C best = is_max ? lowest<C>(group.x.dtype) : highest<C>(group.x.dtype);
  group.for_each([&](C value) {
    if constexpr (std::is_floating_point_v<C>) {
      if (std::isnan(value)) best = value;
    }
    if (is_max ? value > best : value < best) best = value;
  });
  return best;
}

double log_sum_exp(const Group<double>& group) {
  const double shift = extreme(group, true);
  if (std::isinf(shift)) return shift;
  double sum = 0;
  group.for_each([&](double value) { sum += std::exp(value - shift); });
  return shift + std::log(sum);
}

template <typename C>
C reduce(Reduction reduction, const Group<C>& group) {
  using W = std::conditional_t<std::is_floating_point_v<C>, C, std::uint64_t>;
  W sum = reduction == Reduction::kProd ? W{1} : W{0};
  switch (reduction) {
    case Reduction::kMax:
      return extreme(group, true);
    case Reduction::kMin:
      return extreme(group, false);
    case Reduction::kProd:
      group.for_each([&](C value) { sum *= W(value); });
      break;
    case Reduction::kL1:
      group.for_each([&](C value) { sum += value < C{0} ? W{0} - W(value) : W(value); });
      break;
    case Reduction::kL2:
    case Reduction::kSumSquare:
      group.for_each([&](C value) { sum += W(value) * W(value); });
      break;
    default:
      group.for_each([&](C value) { sum += W(value); });
  }
  if constexpr (std::is_floating_point_v<C>) {
    switch (reduction) {
      case Reduction::kMean:
        return sum / static_cast<double>(group.walk.count());
      case Reduction::kL2:
        return std::sqrt(sum);
      case Reduction::kLogSum:
        return std::log(sum);
      case Reduction::kLogSumExp:
        return log_sum_exp(group);
      default:
        return sum;
    }
  }
  const auto count = static_cast<C>(group.walk.count());
  if (reduction == Reduction::kMean) return count == 0 ? C{0} : static_cast<C>(C(sum) / count);
  return static_cast<C>(sum);
}

}  // namespace

Body compile_reduce(const Operation& op) {
  const Type x = op.input(0), y = op.output(0);
  Reduction reduction{};
  for (const auto& [name, value] : kReductions) {
    if (name == op.node().op()) reduction = value;
  }
  Dims kept_dims, kept_strides, dims, strides;
  const Dims own = row_major_strides(x.dims);
  const auto axes = op.node().get_ints("axes");
  for (int d = 0; d < x.rank(); ++d) {
    const bool is_reduced = std::find(axes.begin(), axes.end(), d) != axes.end();
    (is_reduced ? dims : kept_dims).push_back(x.dims[d]);
    (is_reduced ? strides : kept_strides).push_back(own[d]);
  }
  const Walk kept(kept_dims, {kept_strides}, {0});
  const Walk group(dims, {strides}, {0});
  if (kept.count() != y.count()) {
    throw sdk::Decline(op.title() + ": axes leave " + std::to_string(kept.count()) +
                       " elements, the result has " + std::to_string(y.count()));
  }
  return [=](const Run& run) {
    const auto run_in = [&]<typename C>(C) {
      const std::int64_t grain = std::max<std::int64_t>(1, kGrain / (group.count() + 1));
      run.host.parallel_for(kept.count(), grain, [&](std::int64_t begin, std::int64_t end) {
        kept.for_each_run(
            begin, end, 1, [&](std::int64_t to, const std::int64_t* from, std::int64_t) {
              const C result = reduce<C>(reduction, Group<C>{x, run.in(0), group, from[0]});
              store(y.dtype, run.out(0), to, 1, 1, &result);
            });
      });
    };
    if (needs_logarithm_or_root(reduction)) {
      run_in(double{});
    } else {
      with_compute_type(x.dtype, run_in);
    }
  };
}

}  // namespace inlay::reference
