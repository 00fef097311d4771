#include "core/plan/weights.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"

namespace inlay {
namespace {

constexpr std::uint64_t kAlignment = 64;  // a cache line, and the widest vector register

std::uint64_t end_of(const PlanConstant& constant) {
  const std::uint64_t end = constant.offset_bytes + constant.size_bytes;
  return (end + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

void Weights::rest(int constant) const {
  if (file.data) forget(file, tensors[static_cast<std::size_t>(constant)].bytes());
}

int WeightsBuilder::add(const std::string& name, const Tensor& tensor) {
  const Hash hash = hash_of(tensor.bytes());
  const auto [entry, is_new] =
      index_.try_emplace({hash, to_string(tensor.type())}, static_cast<int>(constants_.size()));
  if (!is_new) return entry->second;
  const std::uint64_t offset = constants_.empty() ? 0 : end_of(constants_.back());
  constants_.push_back({name, tensor.type(), hash, offset, tensor.size_bytes()});
  weights_.tensors.push_back(tensor);
  return entry->second;
}

void write_weights(const std::filesystem::path& path, const std::vector<PlanConstant>& constants,
                   const Weights& weights) {
  static constexpr std::array<std::byte, kAlignment> kPadding{};
  std::vector<std::span<const std::byte>> parts;
  std::uint64_t position = 0;
  for (std::size_t i = 0; i < constants.size(); ++i) {
    const std::span<const std::byte> bytes = weights.tensors.at(i).bytes();
    const std::uint64_t offset = constants[i].offset_bytes;
    if (bytes.size() != constants[i].size_bytes || offset < position ||
        offset - position >= kAlignment) {
      throw Error(Code::kInternal,
                  fmt::format("{}: constant '{}' does not follow the one before it", path.string(),
                              constants[i].name));
    }
    parts.push_back(std::span(kPadding).first(offset - position));
    parts.push_back(bytes);
    position = offset + bytes.size();
  }
  write_file(path, parts);
}

Weights open_weights(const std::filesystem::path& path,
                     const std::vector<PlanConstant>& constants) {
  const MappedFile file = map_file(path);
  Weights weights{{}, file};
  std::uint64_t end = 0;
  for (const PlanConstant& constant : constants) {
    const auto fail = [&](const std::string& what) {
      throw Error(Code::kCorrupt,
                  fmt::format("{}: constant '{}': {}", path.string(), constant.name, what));
    };
    if (constant.size_bytes != dense_bytes(constant.type) ||
        constant.offset_bytes % kAlignment != 0) {
      fail("the plan's entry is damaged");
    }
    if (constant.offset_bytes > file.size_bytes ||
        constant.size_bytes > file.size_bytes - constant.offset_bytes) {
      fail(fmt::format("expected {} bytes at {}, the file has {}", constant.size_bytes,
                       constant.offset_bytes, file.size_bytes));
    }
    // Shares the mapping's ownership.
    const Tensor tensor(constant.type, std::shared_ptr<const std::byte>(
                                           file.data, file.data.get() + constant.offset_bytes));
    const Hash found = hash_of(tensor.bytes());
    if (found != constant.hash) {
      fail(fmt::format("expected content {}, found {}", constant.hash.hex(), found.hex()));
    }
    end = std::max(end, constant.offset_bytes + constant.size_bytes);
    weights.tensors.push_back(tensor);
    weights.rest(static_cast<int>(weights.tensors.size()) - 1);
  }
  if (end != file.size_bytes) {
    throw Error(Code::kCorrupt, fmt::format("{}: expected {} bytes, the file has {}", path.string(),
                                            end, file.size_bytes));
  }
  return weights;
}

}  // namespace inlay
