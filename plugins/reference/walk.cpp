#include "plugins/reference/walk.h"

#include <cstring>

#include "plugins/reference/element.h"

namespace inlay::reference {

Walk::Walk(const Dims& dims, const std::vector<Dims>& strides, Dims bases)
    : strides_(strides.size()), bases_(std::move(bases)), count_(sdk::element_count(dims)) {
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    bool merges = !dims_.empty();
    for (std::size_t k = 0; merges && k < strides.size(); ++k) {
      merges = strides_[k].back() == strides[k][d] * dims[d];
    }
    if (merges) {
      dims_.back() *= dims[d];
    } else {
      dims_.push_back(dims[d]);
    }
    for (std::size_t k = 0; k < strides.size(); ++k) {
      if (merges) {
        strides_[k].back() = strides[k][d];
      } else {
        strides_[k].push_back(strides[k][d]);
      }
    }
  }
  if (dims_.empty()) {
    dims_.push_back(1);
    for (Dims& operand : strides_) operand.push_back(1);
  }
}

Walk Walk::broadcast(const Dims& out, const std::vector<Dims>& operands) {
  std::vector<Dims> strides;
  for (const Dims& operand : operands) {
    if (operand.size() > out.size())
      throw sdk::Decline("operand has a higher rank than the result");
    const Dims own = row_major_strides(operand);
    const std::size_t shift = out.size() - operand.size();
    Dims spread(out.size(), 0);
    for (std::size_t d = 0; d < operand.size(); ++d) {
      if (operand[d] != 1 && operand[d] != out[d + shift]) {
        throw sdk::Decline("extent " + std::to_string(operand[d]) + " does not broadcast to " +
                           std::to_string(out[d + shift]));
      }
      if (operand[d] != 1) spread[d + shift] = own[d];
    }
    strides.push_back(std::move(spread));
  }
  return Walk(out, strides, Dims(operands.size(), 0));
}

void copy_along(const Walk& walk, inlay_dtype dtype, const Run& run, const void* in, void* out) {
  if (out == nullptr) return;
  with_element_size(dtype, [&]<typename E>(E) {
    const E* source = static_cast<const E*>(in);
    E* target = static_cast<E*>(out);
    const std::int64_t stride = walk.inner_stride(0);
    run.host.parallel_for(walk.count(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      walk.for_each_run(begin, end, end - begin,
                        [&](std::int64_t to, const std::int64_t* from, std::int64_t length) {
                          if (stride == 1) {
                            std::memcpy(target + to, source + from[0], length * sizeof(E));
                            return;
                          }
                          for (std::int64_t i = 0; i < length; ++i) {
                            target[to + i] = source[from[0] + i * stride];
                          }
                        });
    });
  });
}

}  // namespace inlay::reference
