#include "core/host/elf_file.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/base/error.h"

namespace inlay {
namespace {

// The text up to the first NUL; nullopt if the bytes end before one.
std::optional<std::string_view> terminated(std::span<const std::byte> bytes) {
  const auto end = std::find(bytes.begin(), bytes.end(), std::byte{0});
  if (end == bytes.end()) return std::nullopt;
  return std::string_view(reinterpret_cast<const char*>(bytes.data()),
                          static_cast<std::size_t>(end - bytes.begin()));
}

std::uint64_t padded(std::uint32_t size) { return (std::uint64_t{size} + 3) & ~std::uint64_t{3}; }

}  // namespace

void ElfFile::fail(const std::string& message) const {
  throw Error(Code::kCorrupt, fmt::format("{}: {}", name_, message));
}

std::span<const std::byte> ElfFile::range(std::uint64_t offset, std::uint64_t size,
                                          std::string_view what) const {
  // Written so that no sum can overflow.
  if (offset > bytes_.size() || size > bytes_.size() - offset) {
    fail(fmt::format("{}: expected {} bytes at offset {}, the file has {}", what, size, offset,
                     bytes_.size()));
  }
  return bytes_.subspan(offset, size);
}

template <typename T>
T ElfFile::read(std::uint64_t offset, std::string_view what) const {
  T value;
  std::memcpy(&value, range(offset, sizeof(T), what).data(), sizeof(T));
  return value;
}

ElfFile::ElfFile(std::span<const std::byte> bytes, std::string name)
    : bytes_(bytes), name_(std::move(name)) {
  if (bytes.size() < sizeof(Elf64_Ehdr) || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) {
    fail("expected an ELF file, found something else");
  }
  const auto header = read<Elf64_Ehdr>(0, "ELF header");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != EM_X86_64) {
    fail(fmt::format("expected ELF for x86-64, found class {}, data {}, machine {}",
                     header.e_ident[EI_CLASS], header.e_ident[EI_DATA], header.e_machine));
  }
  if (header.e_type != ET_DYN) {
    fail(fmt::format("expected a shared library (ELF type {}), found type {}", ET_DYN,
                     header.e_type));
  }
  if (header.e_shnum == 0) fail("expected section headers, found none");
  if (header.e_shentsize != sizeof(Elf64_Shdr)) {
    fail(fmt::format("section headers: expected {} bytes each, found {}", sizeof(Elf64_Shdr),
                     header.e_shentsize));
  }
  const std::uint64_t table_size = std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
  range(header.e_shoff, table_size, "section headers");
  if (header.e_shstrndx >= header.e_shnum) {
    fail(fmt::format("section names: expected an index below {}, found {}", header.e_shnum,
                     header.e_shstrndx));
  }
  const auto header_of = [&](std::uint64_t index) {
    return read<Elf64_Shdr>(header.e_shoff + index * sizeof(Elf64_Shdr), "section header");
  };
  const Elf64_Shdr names_header = header_of(header.e_shstrndx);
  const auto names = range(names_header.sh_offset, names_header.sh_size, "section names");
  bool has_dynamic = false;
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr section = header_of(i);
    if (section.sh_name >= names.size()) {
      fail(fmt::format("section {}: name lies outside the section names", i));
    }
    const auto section_name = terminated(names.subspan(section.sh_name));
    if (!section_name) fail(fmt::format("section {}: name does not end", i));
    has_dynamic |= section.sh_type == SHT_DYNAMIC;
    sections_.push_back(
        {*section_name, section.sh_type, section.sh_flags, section.sh_offset, section.sh_size});
  }
  if (!has_dynamic) fail("expected a shared library, found no dynamic section");
}

std::optional<std::span<const std::byte>> ElfFile::section(std::string_view name) const {
  for (const Section& section : sections_) {
    if (section.name != name) continue;
    if (section.type == SHT_NOBITS) fail(fmt::format("section {} has no bytes", name));
    if ((section.flags & SHF_COMPRESSED) != 0) fail(fmt::format("section {} is compressed", name));
    return range(section.offset, section.size, name);
  }
  return std::nullopt;
}

std::string ElfFile::build_id() const {
  const auto found = section(".note.gnu.build-id");
  if (!found) return {};
  std::span<const std::byte> rest = *found;
  while (rest.size() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note;
    std::memcpy(&note, rest.data(), sizeof(note));
    rest = rest.subspan(sizeof(note));
    const std::uint64_t name_bytes = padded(note.n_namesz);
    const std::uint64_t id_bytes = padded(note.n_descsz);
    if (name_bytes > rest.size() || id_bytes > rest.size() - name_bytes) {
      fail("build id: the note is longer than its section");
    }
    const bool is_gnu = note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
                        std::memcmp(rest.data(), ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0;
    if (is_gnu) {
      std::string hex;
      for (const std::byte b : rest.subspan(name_bytes, note.n_descsz)) {
        hex += fmt::format("{:02x}", std::to_integer<unsigned>(b));
      }
      return hex;
    }
    rest = rest.subspan(name_bytes + id_bytes);
  }
  return {};
}

}  // namespace inlay
