#include "search/cli/dynamic_section.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/base/error.h"

namespace inlay::cli {
namespace {

// A file whose every offset is checked before it is followed.
class Reader {
 public:
  Reader(std::span<const std::byte> file, const std::string& name) : file_(file), name_(name) {
    header_ = read<Elf64_Ehdr>(0);
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 ||
        header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_machine != EM_X86_64 ||
        header_.e_phentsize != sizeof(Elf64_Phdr)) {
      fail("expected an x86-64 ELF file");
    }
    find_dynamic();
  }

  struct Entry {
    std::size_t offset;  // in the file
    Elf64_Dyn value;
  };
  // Up to the terminating DT_NULL, which is left out.
  const std::vector<Entry>& entries() const { return entries_; }

  std::string text(std::uint64_t offset) const {
    for (const Entry& entry : entries_) {
      if (entry.value.d_tag != DT_STRTAB) continue;
      const std::size_t begin = file_offset(entry.value.d_un.d_ptr);
      if (begin > file_.size() || offset >= file_.size() - begin) fail("a name past the end");
      const std::span<const std::byte> rest = file_.subspan(begin + offset);
      const auto end = std::find(rest.begin(), rest.end(), std::byte{0});
      if (end == rest.end()) fail("a name without an end");
      return {reinterpret_cast<const char*>(rest.data()),
              static_cast<std::size_t>(end - rest.begin())};
    }
    fail("no string table");
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw Error(Code::kCorrupt, fmt::format("{}: {}", name_, what));
  }

  template <typename T>
  T read(std::uint64_t offset) const {
    if (offset > file_.size() || sizeof(T) > file_.size() - offset) fail("the file is cut short");
    T value;
    std::memcpy(&value, file_.data() + offset, sizeof value);
    return value;
  }

  Elf64_Phdr segment(std::size_t i) const {
    return read<Elf64_Phdr>(header_.e_phoff + i * sizeof(Elf64_Phdr));
  }

  std::size_t file_offset(std::uint64_t address) const {
    for (std::size_t i = 0; i < header_.e_phnum; ++i) {
      const Elf64_Phdr s = segment(i);
      if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz) {
        return address - s.p_vaddr + s.p_offset;
      }
    }
    fail("an address outside the file");
  }

  void find_dynamic() {
    for (std::size_t i = 0; i < header_.e_phnum; ++i) {
      const Elf64_Phdr s = segment(i);
      if (s.p_type != PT_DYNAMIC) continue;
      for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= s.p_filesz; at += sizeof(Elf64_Dyn)) {
        const auto value = read<Elf64_Dyn>(s.p_offset + at);
        if (value.d_tag == DT_NULL) return;
        entries_.push_back({static_cast<std::size_t>(s.p_offset + at), value});
      }
      break;  // there is one in a sound file
    }
    fail("expected a dynamic section with an end");
  }

  std::span<const std::byte> file_;
  const std::string& name_;
  Elf64_Ehdr header_{};
  std::vector<Entry> entries_;
};

bool is_run_path(const Reader::Entry& entry) {
  return entry.value.d_tag == DT_RPATH || entry.value.d_tag == DT_RUNPATH;
}

}  // namespace

DynamicSection read_dynamic_section(std::span<const std::byte> file, const std::string& name) {
  const Reader reader(file, name);
  DynamicSection section;
  for (const Reader::Entry& entry : reader.entries()) {
    if (entry.value.d_tag == DT_NEEDED)
      section.needed.push_back(reader.text(entry.value.d_un.d_val));
    if (entry.value.d_tag == DT_SONAME) section.soname = reader.text(entry.value.d_un.d_val);
    section.has_run_path = section.has_run_path || is_run_path(entry);
  }
  return section;
}

// The entries that stay move up; a DT_NULL takes each place that becomes free at the end.
std::vector<std::byte> without_run_path(std::span<const std::byte> file, const std::string& name) {
  const Reader reader(file, name);
  std::vector<std::byte> bytes(file.begin(), file.end());
  std::size_t kept = 0;
  const auto write = [&](const Elf64_Dyn& value) {
    std::memcpy(bytes.data() + reader.entries()[kept++].offset, &value, sizeof value);
  };
  for (const Reader::Entry& entry : reader.entries()) {
    if (!is_run_path(entry)) write(entry.value);
  }
  while (kept < reader.entries().size()) write(Elf64_Dyn{});
  return bytes;
}

}  // namespace inlay::cli
