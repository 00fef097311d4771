// Einsum: the sum over all labels that the result lacks, of the product of the operands' elements.
#include <algorithm>
#include <map>

#include "plugins/reference/element.h"
#include "plugins/reference/operators.h"
#include "plugins/reference/walk.h"

namespace inlay::reference {
namespace {

// "..." becomes as many upper-ASCII labels as it stands for, numbered from the right, so that they
// broadcast like numpy's.
constexpr int kEllipsisLabels = 256;

struct Equation {
  std::vector<std::vector<int>> operands;  // labels, one a dimension
  std::vector<int> result;
};

std::vector<int> parse_term(const std::string& term, int ellipsis_rank) {
  std::vector<int> labels;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term[i] == ' ') continue;
    if (term[i] != '.') {
      labels.push_back(static_cast<unsigned char>(term[i]));
      continue;
    }
    for (int d = ellipsis_rank; d > 0; --d) labels.push_back(kEllipsisLabels + d);
    i += 2;
  }
  return labels;
}

int letters_in(const std::string& term) {
  return static_cast<int>(
      std::count_if(term.begin(), term.end(), [](char c) { return c != ' ' && c != '.'; }));
}

Equation parse(const Operation& op) {
  const std::string text(op.node().get_string("equation", ""));
  const std::size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  std::vector<std::string> terms(1);
  for (const char c : left) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  if (static_cast<int>(terms.size()) != op.input_count()) {
    throw sdk::Decline(op.title() + ": equation '" + text + "' has " +
                       std::to_string(terms.size()) + " terms, the node has " +
                       std::to_string(op.input_count()) + " operands");
  }
  Equation equation;
  int widest_ellipsis = 0;
  std::map<int, int> uses;
  for (int i = 0; i < op.input_count(); ++i) {
    const bool has_ellipsis = terms[i].find('.') != std::string::npos;
    const int ellipsis_rank = has_ellipsis ? op.input(i).rank() - letters_in(terms[i]) : 0;
    widest_ellipsis = std::max(widest_ellipsis, ellipsis_rank);
    equation.operands.push_back(parse_term(terms[i], ellipsis_rank));
    if (static_cast<int>(equation.operands.back().size()) != op.input(i).rank()) {
      throw sdk::Decline(op.title() + ": term '" + terms[i] + "' does not fit rank " +
                         std::to_string(op.input(i).rank()));
    }
    for (const int label : equation.operands.back()) ++uses[label];
  }
  if (arrow != std::string::npos) {
    equation.result = parse_term(text.substr(arrow + 2), widest_ellipsis);
    return equation;
  }
  // Implicit form: the ellipsis first, then every label used once, in order.
  for (int d = widest_ellipsis; d > 0; --d) equation.result.push_back(kEllipsisLabels + d);
  for (const auto& [label, count] : uses) {
    if (label < kEllipsisLabels && count == 1) equation.result.push_back(label);
  }
  return equation;
}

}  // namespace

Body compile_einsum(const Operation& op) {
  const Equation equation = parse(op);
  const Type y = op.output(0);
  std::vector<int> labels = equation.result;
  std::map<int, std::int64_t> extents;
  std::vector<Type> types;
  for (int k = 0; k < op.input_count(); ++k) {
    types.push_back(op.input(k));
    for (int d = 0; d < types[k].rank(); ++d) {
      const int label = equation.operands[k][d];
      std::int64_t& extent = extents.try_emplace(label, types[k].dims[d]).first->second;
      if (extent == 1) extent = types[k].dims[d];
      if (std::find(labels.begin(), labels.end(), label) == labels.end()) labels.push_back(label);
    }
  }
  const std::size_t kept = equation.result.size();
  Dims kept_dims, summed_dims;
  std::vector<Dims> kept_strides(types.size()), summed_strides(types.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    (i < kept ? kept_dims : summed_dims).push_back(extents[labels[i]]);
    for (std::size_t k = 0; k < types.size(); ++k) {
      const Dims own = row_major_strides(types[k].dims);
      std::int64_t stride = 0;  // a label twice in one term walks the diagonal
      for (std::size_t d = 0; d < own.size(); ++d) {
        if (equation.operands[k][d] == labels[i] && types[k].dims[d] != 1) stride += own[d];
      }
      (i < kept ? kept_strides : summed_strides)[k].push_back(stride);
    }
  }
  const Walk outer(kept_dims, kept_strides, Dims(types.size(), 0));
  const Walk inner(summed_dims, summed_strides, Dims(types.size(), 0));
  if (outer.count() != y.count()) throw sdk::Decline(op.title() + ": result has another shape");

  return [=](const Run& run) {
    const auto run_in = [&]<typename C>(C) {
      std::vector<std::vector<C>> operands;
      for (std::size_t k = 0; k < types.size(); ++k) {
        operands.push_back(
            load_all<C>(types[k].dtype, run.in(static_cast<int>(k)), types[k].count()));
      }
      const auto sum_at = [&](const std::int64_t* base) {
        C sum{};
        inner.for_each_run(0, inner.count(), inner.count(),
                           [&](std::int64_t, const std::int64_t* offsets, std::int64_t length) {
                             for (std::int64_t i = 0; i < length; ++i) {
                               C product{1};
                               for (std::size_t k = 0; k < operands.size(); ++k) {
                                 product *=
                                     operands[k][base[k] + offsets[k] +
                                                 i * inner.inner_stride(static_cast<int>(k))];
                               }
                               sum += product;
                             }
                           });
        return sum;
      };
      const std::int64_t grain = std::max<std::int64_t>(1, kGrain / (inner.count() + 1));
      run.host.parallel_for(outer.count(), grain, [&](std::int64_t begin, std::int64_t end) {
        outer.for_each_run(begin, end, 1,
                           [&](std::int64_t to, const std::int64_t* base, std::int64_t) {
                             const C sum = sum_at(base);
                             store(y.dtype, run.out(0), to, 1, 1, &sum);
                           });
      });
    };
    is_float(y.dtype) ? run_in(double{}) : run_in(std::uint64_t{});
  };
}

}  // namespace inlay::reference
