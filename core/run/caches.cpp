#include "core/run/caches.h"

#include <algorithm>

namespace inlay {

void Caches::prepare(std::int64_t elsewhere_bytes, std::span<const Tensor> near) {
  const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(elsewhere_bytes, 0));
  // Not zeros: pages that nobody wrote may all be one, which would stay in the cache.
  if (elsewhere_.size() < wanted) elsewhere_.resize(wanted, std::byte{1});
  read(std::span(elsewhere_).first(wanted));
  for (const Tensor& tensor : near) read(tensor.bytes());
}

void Caches::read(std::span<const std::byte> bytes) const {
  constexpr std::size_t kChunkBytes = std::size_t{64} << 10;
  parallel_for_(
      static_cast<std::int64_t>((bytes.size() + kChunkBytes - 1) / kChunkBytes),
      [](void* argument, std::int64_t chunk) {
        const auto& source = *static_cast<const std::span<const std::byte>*>(argument);
        constexpr std::size_t kLineBytes = 64;
        const std::size_t begin = static_cast<std::size_t>(chunk) * kChunkBytes;
        const std::size_t end = std::min(begin + kChunkBytes, source.size());
        const volatile std::byte* at = source.data();
        for (std::size_t i = begin; i < end; i += kLineBytes) static_cast<void>(at[i]);
      },
      &bytes);
}

}  // namespace inlay
