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
    const std::span<const std::byte> rest = file_.subspan(text_place(offset));
    const auto end = std::find(rest.begin(), rest.end(), std::byte{0});
    if (end == rest.end()) fail("a name without an end");
    return {reinterpret_cast<const char*>(rest.data()),
            static_cast<std::size_t>(end - rest.begin())};
  }

  // Where in the file the text at that offset of the string table is.
  std::size_t text_place(std::uint64_t offset) const {
    const std::size_t begin = file_offset(address_of(DT_STRTAB));
    if (begin > file_.size() || offset >= file_.size() - begin) fail("a name past the end");
    return begin + offset;
  }

  // Whether something else is named by a piece of the text: linkers let a name be another's end.
  // The symbol table has no length of its own; linkers put the string table behind it.
  bool is_shared(std::uint64_t offset) const {
    const std::uint64_t end = offset + text(offset).size();
    const auto is_inside = [&](std::uint64_t other) { return other > offset && other < end; };
    for (const Entry& entry : entries_) {
      const auto tag = entry.value.d_tag;
      const bool is_text = tag == DT_NEEDED || tag == DT_SONAME || is_run_path(entry);
      if (is_text && is_inside(entry.value.d_un.d_val)) return true;
    }
    const std::uint64_t begin = address_of(DT_SYMTAB);
    if (begin >= address_of(DT_STRTAB)) return true;  // unknown
    for (std::uint64_t at = begin; at + sizeof(Elf64_Sym) <= address_of(DT_STRTAB);
         at += sizeof(Elf64_Sym)) {
      if (is_inside(read<Elf64_Sym>(file_offset(at)).st_name)) return true;
    }
    return false;
  }

  static bool is_run_path(const Entry& entry) {
    return entry.value.d_tag == DT_RPATH || entry.value.d_tag == DT_RUNPATH;
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw Error(Code::kCorrupt, fmt::format("{}: {}", name_, what));
  }

  std::uint64_t address_of(std::int64_t tag) const {
    for (const Entry& entry : entries_) {
      if (entry.value.d_tag == tag) return entry.value.d_un.d_ptr;
    }
    fail(tag == DT_STRTAB ? "no string table" : "no symbol table");
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

// The entries that stay move up; a DT_NULL takes each place that becomes free at the end.
template <typename Stays>
std::vector<std::byte> filtered(std::span<const std::byte> file, const Reader& reader,
                                const Stays& stays) {
  std::vector<std::byte> bytes(file.begin(), file.end());
  std::size_t kept = 0;
  const auto write = [&](const Elf64_Dyn& value) {
    std::memcpy(bytes.data() + reader.entries()[kept++].offset, &value, sizeof value);
  };
  for (const Reader::Entry& entry : reader.entries()) {
    if (stays(entry)) write(entry.value);
  }
  while (kept < reader.entries().size()) write(Elf64_Dyn{});
  return bytes;
}

}  // namespace

DynamicSection read_dynamic_section(std::span<const std::byte> file, const std::string& name) {
  const Reader reader(file, name);
  DynamicSection section;
  for (const Reader::Entry& entry : reader.entries()) {
    if (entry.value.d_tag == DT_NEEDED)
      section.needed.push_back(reader.text(entry.value.d_un.d_val));
    if (entry.value.d_tag == DT_SONAME) section.soname = reader.text(entry.value.d_un.d_val);
    if (Reader::is_run_path(entry))
      section.run_paths.push_back(reader.text(entry.value.d_un.d_val));
  }
  return section;
}

std::vector<std::byte> without_run_path(std::span<const std::byte> file, const std::string& name) {
  const Reader reader(file, name);
  return filtered(file, reader, [](const auto& entry) { return !Reader::is_run_path(entry); });
}

std::vector<std::byte> with_run_path(std::span<const std::byte> file, const std::string& name,
                                     std::string_view path) {
  const Reader reader(file, name);
  const auto& entries = reader.entries();
  const auto first = std::find_if(entries.begin(), entries.end(), Reader::is_run_path);
  if (first == entries.end()) return without_run_path(file, name);
  const std::uint64_t text = first->value.d_un.d_val;
  if (reader.text(text).size() < path.size() || reader.is_shared(text)) {
    return without_run_path(file, name);
  }
  std::vector<std::byte> bytes = filtered(file, reader, [&](const auto& entry) {
    return !Reader::is_run_path(entry) || entry.offset == first->offset;
  });
  const auto kept = static_cast<std::size_t>(first - entries.begin());  // none before it went
  const Elf64_Dyn entry{DT_RPATH, {text}};
  std::memcpy(bytes.data() + entries[kept].offset, &entry, sizeof entry);
  std::byte* place = bytes.data() + reader.text_place(text);
  std::memset(place, 0, reader.text(text).size());
  std::memcpy(place, path.data(), path.size());
  return bytes;
}

}  // namespace inlay::cli
