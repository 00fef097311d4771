// Gather, GatherElements, GatherND and OneHot.
#include <cstring>

#include "plugins/reference/element.h"
#include "plugins/reference/indices.h"
#include "plugins/reference/operators.h"
#include "plugins/reference/walk.h"

namespace inlay::reference {

Body compile_gather(const Operation& op) {
  const Type x = op.input(0), indices = op.input(1);
  const int axis = op.axis(x.rank());
  const std::size_t block = x.count(axis + 1, x.rank()) * size_of(x.dtype);
  const std::int64_t outer = x.count(0, axis);
  return [=, title = op.title()](const Run& run) {
    const auto rows = load_indices(title, indices, run.in(1), {x.dims[axis]});
    const auto count = static_cast<std::int64_t>(rows.size());
    if (block == 0) return;
    const auto grain = std::max<std::int64_t>(1, 65536 / static_cast<std::int64_t>(block));
    run.host.parallel_for(outer * count, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t row = i / count * x.dims[axis] + rows[i % count];
        std::memcpy(run.out<std::byte>(0) + i * block, run.in<std::byte>(0) + row * block, block);
      }
    });
  };
}

Body compile_gather_elements(const Operation& op) {
  const Type x = op.input(0), indices = op.input(1), y = op.output(0);
  const int axis = op.axis(x.rank());
  if (indices.rank() != x.rank()) throw sdk::Decline(op.title() + ": ranks differ");
  Dims strides = row_major_strides(x.dims);
  const std::int64_t axis_stride = strides[axis];
  strides[axis] = 0;
  for (int d = 0; d < x.rank(); ++d) {
    if (d != axis && indices.dims[d] > x.dims[d]) {
      throw sdk::Decline(op.title() + ": indices exceed the input along axis " + std::to_string(d));
    }
  }
  const Walk walk(indices.dims, {strides}, {0});
  return [=, title = op.title()](const Run& run) {
    const auto chosen = load_indices(title, indices, run.in(1), {x.dims[axis]});
    with_element_size(y.dtype, [&]<typename E>(E) {
      run.host.parallel_for(walk.count(), kGrain, [&](std::int64_t begin, std::int64_t end) {
        walk.for_each_run(begin, end, end - begin,
                          [&](std::int64_t to, const std::int64_t* from, std::int64_t length) {
                            for (std::int64_t i = 0; i < length; ++i) {
                              const std::int64_t base = from[0] + i * walk.inner_stride(0);
                              run.out<E>(0)[to + i] =
                                  run.in<E>(0)[base + chosen[to + i] * axis_stride];
                            }
                          });
      });
    });
  };
}

Body compile_gather_nd(const Operation& op) {
  const Type x = op.input(0), indices = op.input(1);
  const int batch_dims = static_cast<int>(op.node().get_int("batch_dims", 0));
  if (indices.rank() == 0) throw sdk::Decline(op.title() + ": indices are a scalar");
  const int depth = static_cast<int>(indices.dims.back());
  if (batch_dims < 0 || batch_dims >= indices.rank() || depth < 0 ||
      batch_dims + depth > x.rank()) {
    throw sdk::Decline(op.title() + ": tuples of " + std::to_string(depth) + " after " +
                       std::to_string(batch_dims) + " batch dimensions exceed rank " +
                       std::to_string(x.rank()));
  }
  const Dims extents(x.dims.begin() + batch_dims, x.dims.begin() + batch_dims + depth);
  const Dims all_strides = row_major_strides(x.dims);
  const std::size_t block = x.count(batch_dims + depth, x.rank()) * size_of(x.dtype);
  const std::int64_t block_count = x.count(batch_dims + depth, x.rank());
  const std::int64_t tuples = indices.count(0, indices.rank() - 1);
  const std::int64_t batches = x.count(0, batch_dims);
  const std::int64_t batch_size = x.count(batch_dims, x.rank());
  return [=, title = op.title()](const Run& run) {
    if (tuples == 0 || block == 0) return;
    const auto chosen =
        depth == 0 ? std::vector<std::int64_t>{} : load_indices(title, indices, run.in(1), extents);
    const std::int64_t per_batch = tuples / batches;
    for (std::int64_t t = 0; t < tuples; ++t) {
      std::int64_t offset = t / per_batch * batch_size;
      for (int d = 0; d < depth; ++d) offset += chosen[t * depth + d] * all_strides[batch_dims + d];
      std::memcpy(run.out<std::byte>(0) + t * block,
                  run.in<std::byte>(0) + offset / block_count * block, block);
    }
  };
}

// Positions outside [-depth, depth - 1] give a line of off values. values: [off, on].
Body compile_one_hot(const Operation& op) {
  const Type indices = op.input(0), y = op.output(0);
  const int axis = op.axis(y.rank());
  const std::int64_t depth = op.node().get_int("depth", y.dims[axis]);
  if (y.dims[axis] != depth || indices.rank() + 1 != y.rank() || op.input(1).count() != 2) {
    throw sdk::Decline(op.title() + ": depth, values and result do not fit");
  }
  const std::int64_t inner = y.count(axis + 1, y.rank());
  return [=](const Run& run) {
    with_element_size(y.dtype, [&]<typename E>(E) {
      const E off = run.in<E>(1)[0], on = run.in<E>(1)[1];
      for (std::int64_t i = 0; i < y.count(); ++i) run.out<E>(0)[i] = off;
      const auto hot = load_all<std::int64_t>(indices.dtype, run.in(0), indices.count());
      for (std::int64_t i = 0; i < indices.count(); ++i) {
        const std::int64_t position = hot[i] < 0 ? hot[i] + depth : hot[i];
        if (position < 0 || position >= depth) continue;
        run.out<E>(0)[(i / inner * depth + position) * inner + i % inner] = on;
      }
    });
  };
}

}  // namespace inlay::reference
