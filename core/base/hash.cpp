#include "core/base/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <new>

namespace inlay {

struct Hasher::State {
  XXH3_state_t* xxh = XXH3_createState();
  State() {
    if (xxh == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(xxh);
  }
  ~State() { XXH3_freeState(xxh); }
};

std::string Hash::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

Hasher::Hasher() : state_(std::make_unique<State>()) {}
Hasher::~Hasher() = default;

Hasher& Hasher::add(std::span<const std::byte> bytes) {
  const std::uint64_t size = bytes.size();
  XXH3_128bits_update(state_->xxh, &size, sizeof size);
  XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
  return *this;
}

Hasher& Hasher::add(std::string_view text) { return add(std::as_bytes(std::span(text))); }

Hasher& Hasher::add(std::int64_t number) { return add(std::as_bytes(std::span(&number, 1))); }

Hash Hasher::finish() const {
  const XXH128_hash_t digest = XXH3_128bits_digest(state_->xxh);
  return {digest.high64, digest.low64};
}

Hash hash_of(std::span<const std::byte> bytes) { return Hasher().add(bytes).finish(); }

}  // namespace inlay
