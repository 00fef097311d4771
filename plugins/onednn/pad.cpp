// Pad: the input is copied into the output, then the border is made, axis by axis, out of what is
// there already.

#include <algorithm>

#include "plugins/onednn/compile.h"
#include "plugins/onednn/reorder.h"

namespace inlay::onednn {

namespace {

// Each index of an edge or reflection is a reorder of its own; more than these take longer to start
// than to run.
constexpr std::int64_t kMostBorders = 16;

struct Padding {
  Dims before, after;  // negative ones cut off
};

Padding read_padding(const sdk::NodeView& node, std::size_t rank) {
  const auto pads = node.get_ints("pads");
  if (pads.size() != 2 * rank) throw sdk::Decline("Pad: pads and rank disagree");
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(rank);
  return {Dims(pads.begin(), middle), Dims(middle, pads.end())};
}

bool has_border(const Padding& p) {
  const auto is_positive = [](std::int64_t pad) { return pad > 0; };
  return std::any_of(p.before.begin(), p.before.end(), is_positive) ||
         std::any_of(p.after.begin(), p.after.end(), is_positive);
}

void copy_inside(KernelBuilder& builder, const sdk::ValueView& x, const sdk::ValueView& y,
                 const Padding& p) {
  Dims dims = dims_of(x), from(dims.size(), 0), to(dims.size(), 0);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    dims[i] += std::min<std::int64_t>(p.before[i], 0) + std::min<std::int64_t>(p.after[i], 0);
    from[i] = std::max<std::int64_t>(-p.before[i], 0);
    to[i] = std::max<std::int64_t>(p.before[i], 0);
    if (dims[i] <= 0) throw sdk::Decline("Pad: nothing of the input is kept");
  }
  const Dims steps(dims.size(), 1);
  add_reorder(builder, x, part_of(describe(x), dims, from, steps), y,
              part_of(describe(y), dims, to, steps));
}

// Every index of the border of one axis is a copy of one inside: the nearest, or the reflected one.
class Borders {
 public:
  Borders(KernelBuilder& builder, const sdk::ValueView& x, const sdk::ValueView& y,
          const Padding& padding, bool is_reflection)
      : builder_(builder), y_(y), padding_(padding), is_reflection_(is_reflection) {
    dims_ = dims_of(x);
    start_ = padding.before;
  }

  void add_all() {
    for (std::size_t axis = 0; axis < dims_.size(); ++axis) {
      const std::int64_t first = padding_.before[axis], last = first + dims_[axis] - 1;
      for (std::int64_t i = 1; i <= padding_.before[axis]; ++i) {
        copy(axis, is_reflection_ ? first + i : first, first - i);
      }
      for (std::int64_t i = 1; i <= padding_.after[axis]; ++i) {
        copy(axis, is_reflection_ ? last - i : last, last + i);
      }
      start_[axis] = 0;
      dims_[axis] = y_.dim(static_cast<int>(axis));
    }
  }

 private:
  void copy(std::size_t axis, std::int64_t from, std::int64_t to) {
    Dims dims = dims_, source = start_, target = start_;
    dims[axis] = 1;
    source[axis] = from;
    target[axis] = to;
    const Dims steps(dims.size(), 1);
    add_reorder(builder_, y_, part_of(describe(y_), dims, source, steps), y_,
                part_of(describe(y_), dims, target, steps));
  }

  KernelBuilder& builder_;
  sdk::ValueView y_;
  const Padding& padding_;
  bool is_reflection_;
  Dims dims_, start_;  // of what is complete so far
};

void add_borders(KernelBuilder& builder, const sdk::ValueView& x, const sdk::ValueView& y,
                 const Padding& p, bool is_reflection) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < p.before.size(); ++i) {
    if (p.before[i] < 0 || p.after[i] < 0) throw sdk::Decline("Pad: cuts off and repeats");
    if (is_reflection && std::max(p.before[i], p.after[i]) >= x.dim(static_cast<int>(i))) {
      throw sdk::Decline("Pad: reflects more than there is");
    }
    count += p.before[i] + p.after[i];
  }
  if (count > kMostBorders) {
    throw sdk::Decline("Pad: " + std::to_string(count) + " borders, each a reorder of its own");
  }
  Borders(builder, x, y, p, is_reflection).add_all();
}

}  // namespace

std::unique_ptr<sdk::Kernel> compile_pad(const sdk::RegionView& region) {
  KernelBuilder builder(region);
  const sdk::NodeView node = region.node(0);
  const sdk::ValueView x = region.value(node.input(0)), y = region.output(0);
  const Padding padding = read_padding(node, static_cast<std::size_t>(x.rank()));
  const std::string_view mode = node.get_string("mode", "constant");
  if (mode == "wrap") throw sdk::Decline("Pad: wrapped around");
  if (mode == "constant" && has_border(padding)) builder.fill_first(node.get_float("value", 0));
  copy_inside(builder, x, y, padding);
  if (mode != "constant") add_borders(builder, x, y, padding, mode == "reflect");
  return builder.build();
}

}  // namespace inlay::onednn
