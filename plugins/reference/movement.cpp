// Operators that move elements without computing: everything is a walk with strides, or blocks of
// bytes.
#include <cstring>

#include "plugins/reference/element.h"
#include "plugins/reference/operators.h"
#include "plugins/reference/walk.h"

namespace inlay::reference {
namespace {

Body copy_body(const Operation& op, Walk walk) {
  const Type y = op.output(0);
  if (walk.count() != y.count()) {
    throw sdk::Decline(op.title() + ": moves " + std::to_string(walk.count()) +
                       " elements, the result has " + std::to_string(y.count()));
  }
  return [dtype = y.dtype, walk = std::move(walk)](const Run& run) {
    copy_along(walk, dtype, run, run.in(0), run.out(0));
  };
}

// Reads x as if it had the dimensions `view` (same elements), permuted.
Body permuted_copy(const Operation& op, const Dims& view, const std::vector<int>& order) {
  const Dims own = row_major_strides(view);
  Dims dims, strides;
  for (const int d : order) {
    dims.push_back(view[d]);
    strides.push_back(own[d]);
  }
  return copy_body(op, Walk(dims, {strides}, {0}));
}

std::int64_t block_size(const Operation& op, const Type& x) {
  const std::int64_t block = op.node().get_int("blocksize", 0);
  if (block < 1 || x.rank() != 4) {
    throw sdk::Decline(op.title() + ": needs rank 4 and a positive blocksize");
  }
  return block;
}

// Copies `count` blocks of bytes between tensors whose blocks lie at different pitches.
void copy_blocks(const Run& run, std::int64_t count, std::size_t block_bytes, const std::byte* in,
                 std::size_t in_pitch, std::byte* out, std::size_t out_pitch) {
  if (out == nullptr || block_bytes == 0) return;
  const auto grain = std::max<std::int64_t>(1, 65536 / static_cast<std::int64_t>(block_bytes));
  run.host.parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::memcpy(out + i * out_pitch, in + i * in_pitch, block_bytes);
    }
  });
}

}  // namespace

Body compile_reshape(const Operation& op) {
  const Dims flat{op.input(0).count()};
  return copy_body(op, Walk::broadcast(flat, {flat}));
}

Body compile_transpose(const Operation& op) {
  const Type x = op.input(0);
  std::vector<int> order;
  std::vector<bool> seen(x.dims.size());
  const auto perm = op.node().get_ints("perm");
  for (std::size_t i = 0; i < x.dims.size(); ++i) {
    // Without perm the dimensions are reversed.
    const std::int64_t d = op.node().has("perm") && perm.size() == x.dims.size()
                               ? perm[i]
                               : x.rank() - 1 - static_cast<std::int64_t>(i);
    if (d < 0 || d >= x.rank() || seen[d])
      throw sdk::Decline(op.title() + ": perm is no permutation");
    seen[d] = true;
    order.push_back(static_cast<int>(d));
  }
  return permuted_copy(op, x.dims, order);
}

Body compile_concat(const Operation& op) {
  const Type y = op.output(0);
  const int axis = op.axis(y.rank());
  std::vector<std::size_t> block_bytes;
  std::size_t pitch = 0;
  for (int i = 0; i < op.input_count(); ++i) {
    const Type& x = op.input(i);
    block_bytes.push_back(x.count(axis, x.rank()) * size_of(x.dtype));
    pitch += block_bytes.back();
  }
  const std::int64_t outer = y.count(0, axis);
  if (outer * pitch != y.count() * size_of(y.dtype)) {
    throw sdk::Decline(op.title() + ": operands do not fill the result");
  }
  return [=](const Run& run) {
    std::byte* out = run.out<std::byte>(0);
    for (std::size_t i = 0; i < block_bytes.size(); ++i) {
      const std::size_t bytes = block_bytes[i];
      copy_blocks(run, outer, bytes, run.in<std::byte>(static_cast<int>(i)), bytes, out, pitch);
      if (bytes != 0) out += bytes;
    }
  };
}

Body compile_split(const Operation& op) {
  const Type x = op.input(0);
  const int axis = op.axis(x.rank());
  const auto sizes = op.node().get_ints("split");
  const std::size_t unit = x.count(axis + 1, x.rank()) * size_of(x.dtype);
  if (static_cast<int>(sizes.size()) != op.output_count()) {
    throw sdk::Decline(op.title() + ": split has " + std::to_string(sizes.size()) +
                       " entries for " + std::to_string(op.output_count()) + " results");
  }
  std::vector<std::size_t> block_bytes;
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0) throw sdk::Decline(op.title() + ": split has a negative entry");
    block_bytes.push_back(size * unit);
    total += size;
  }
  if (total != x.dims[axis]) {
    throw sdk::Decline(op.title() + ": split adds up to " + std::to_string(total) +
                       ", the axis has " + std::to_string(x.dims[axis]));
  }
  const std::int64_t outer = x.count(0, axis);
  const std::size_t pitch = x.dims[axis] * unit;
  return [=](const Run& run) {
    const std::byte* in = run.in<std::byte>(0);
    for (std::size_t i = 0; i < block_bytes.size(); ++i) {
      const std::size_t bytes = block_bytes[i];
      copy_blocks(run, outer, bytes, in, pitch, run.out<std::byte>(static_cast<int>(i)), bytes);
      if (bytes != 0) in += bytes;
    }
  };
}

Body compile_slice(const Operation& op) {
  const Type x = op.input(0), y = op.output(0);
  const auto starts = op.node().get_ints("starts"), axes = op.node().get_ints("axes");
  const auto steps = op.node().get_ints("steps");
  if (starts.size() != axes.size() || (!steps.empty() && steps.size() != axes.size())) {
    throw sdk::Decline(op.title() + ": starts, axes and steps differ in length");
  }
  Dims strides = row_major_strides(x.dims);
  std::int64_t base = 0;
  if (x.rank() != y.rank()) throw sdk::Decline(op.title() + ": ranks differ");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = axes[i], step = steps.empty() ? 1 : steps[i];
    if (axis < 0 || axis >= x.rank()) throw sdk::Decline(op.title() + ": axis outside the rank");
    const std::int64_t last = starts[i] + (y.dims[axis] - 1) * step;
    const bool is_inside =
        starts[i] >= 0 && starts[i] < x.dims[axis] && last >= 0 && last < x.dims[axis];
    if (y.count() != 0 && !is_inside) {
      throw sdk::Decline(op.title() + ": reads " + std::to_string(starts[i]) + " to " +
                         std::to_string(last) + " of an axis of " + std::to_string(x.dims[axis]));
    }
    base += starts[i] * strides[axis];
    strides[axis] *= step;
  }
  return copy_body(op, Walk(y.dims, {strides}, {base}));
}

Body compile_expand(const Operation& op) {
  return copy_body(op, Walk::broadcast(op.output(0).dims, {op.input(0).dims}));
}

Body compile_tile(const Operation& op) {
  const Type x = op.input(0);
  const Dims repeats = op.ints("repeats", x.dims.size(), 1);
  const Dims own = row_major_strides(x.dims);
  Dims dims, strides;
  for (std::size_t d = 0; d < x.dims.size(); ++d) {
    dims.insert(dims.end(), {repeats[d], x.dims[d]});
    strides.insert(strides.end(), {0, own[d]});
  }
  return copy_body(op, Walk(dims, {strides}, {0}));
}

Body compile_depth_to_space(const Operation& op) {
  const Type x = op.input(0);
  const std::int64_t b = block_size(op, x);
  const std::int64_t n = x.dims[0], c = x.dims[1], h = x.dims[2], w = x.dims[3];
  if (op.node().get_string("mode", "DCR") == "CRD") {
    return permuted_copy(op, {n, c / (b * b), b, b, h, w}, {0, 1, 4, 2, 5, 3});
  }
  return permuted_copy(op, {n, b, b, c / (b * b), h, w}, {0, 3, 4, 1, 5, 2});
}

Body compile_space_to_depth(const Operation& op) {
  const Type x = op.input(0);
  const std::int64_t b = block_size(op, x);
  return permuted_copy(op, {x.dims[0], x.dims[1], x.dims[2] / b, b, x.dims[3] / b, b},
                       {0, 3, 5, 1, 2, 4});
}

Body compile_trilu(const Operation& op) {
  const Type x = op.input(0);
  if (x.rank() < 2) throw sdk::Decline(op.title() + ": rank below 2");
  const bool is_upper = op.node().get_int("upper", 1) != 0;
  const std::int64_t k = op.node().get_int("k", 0);
  const std::int64_t columns = x.dims.back(), rows = x.dims[x.rank() - 2];
  return [=](const Run& run) {
    with_element_size(x.dtype, [&]<typename E>(E) {
      const E* in = run.in<E>(0);
      E* out = run.out<E>(0);
      for (std::int64_t i = 0; i < x.count(); ++i) {
        const std::int64_t diagonal = i % columns - i / columns % rows;
        out[i] = (is_upper ? diagonal >= k : diagonal <= k) ? in[i] : E{0};
      }
    });
  };
}

Body compile_eye_like(const Operation& op) {
  const Type y = op.output(0);
  if (y.rank() != 2) throw sdk::Decline(op.title() + ": needs rank 2");
  const std::int64_t k = op.node().get_int("k", 0);
  return [=](const Run& run) {
    for (std::int64_t i = 0; i < y.count(); ++i) {
      const double value = i % y.dims[1] - i / y.dims[1] == k ? 1.0 : 0.0;
      store(y.dtype, run.out(0), i, 1, 1, &value);
    }
  };
}

}  // namespace inlay::reference
