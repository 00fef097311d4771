// The little of an ELF file that a manifest needs, read as data from bytes nobody vouches for:
// every offset and size is checked against the file before it is followed.
//
//   const ElfFile file(mapped.bytes(), "acme.so");
//   const std::optional<std::span<const std::byte>> json = file.section(".inlay.manifest");
//
// source  System V ABI, gABI chapters 4 and 5; notes as in the LSB's ".note.gnu.build-id"
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inlay {

class ElfFile {
 public:
  // Keeps a view of `bytes`, which must outlive it; `name` is for messages.
  // throws  Error{kCorrupt} unless it is an x86-64 ELF shared library with sound section headers
  ElfFile(std::span<const std::byte> bytes, std::string name);

  // The bytes of the first section of that name; nullopt if there is none.
  // throws  Error{kCorrupt} if it does not lie within the file, or is compressed
  std::optional<std::span<const std::byte>> section(std::string_view name) const;

  // The GNU build id as hex; empty if there is none.
  std::string build_id() const;

 private:
  struct Section {
    std::string_view name;
    std::uint32_t type;
    std::uint64_t flags;
    std::uint64_t offset;
    std::uint64_t size;
  };

  [[noreturn]] void fail(const std::string& message) const;
  std::span<const std::byte> range(std::uint64_t offset, std::uint64_t size,
                                   std::string_view what) const;
  template <typename T>
  T read(std::uint64_t offset, std::string_view what) const;

  std::span<const std::byte> bytes_;
  std::string name_;
  std::vector<Section> sections_;
};

}  // namespace inlay
