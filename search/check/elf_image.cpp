#include "search/check/elf_image.h"

#include <elf.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/host/elf_file.h"

namespace inlay::check {
namespace {

namespace fs = std::filesystem;

// The elements of a section, as far as it is whole.
template <typename T>
std::vector<T> elements(std::span<const std::byte> bytes) {
  std::vector<T> list(bytes.size() / sizeof(T));
  if (!list.empty()) std::memcpy(list.data(), bytes.data(), list.size() * sizeof(T));
  return list;
}

std::string text_at(std::span<const std::byte> strings, std::uint64_t offset) {
  if (offset >= strings.size()) return {};
  const char* text = reinterpret_cast<const char*>(strings.data()) + offset;
  return std::string(text, strnlen(text, strings.size() - offset));
}

std::string folder_of(const std::string& entry, const fs::path& origin) {
  for (const std::string_view word : {std::string_view("$ORIGIN"), std::string_view("${ORIGIN}")}) {
    if (entry.starts_with(word)) return origin.string() + entry.substr(word.size());
  }
  return entry;
}

void split(const std::string& list, const fs::path& origin, std::vector<std::string>* out) {
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    if (end > begin) out->push_back(folder_of(list.substr(begin, end - begin), origin));
    begin = end + 1;
  }
}

std::uint32_t isa_needed(std::span<const std::byte> note) {
  constexpr std::uint32_t kIsaNeeded = 0xc0008002;
  const auto words = elements<std::uint32_t>(note);
  for (std::size_t i = 4; i + 2 < words.size(); ++i) {
    if (words[i] == kIsaNeeded && words[i + 1] == 4) return words[i + 2];
  }
  return 0;
}

}  // namespace

ElfImage::ElfImage(const fs::path& path) {
  const MappedFile mapped = map_file(path);
  const std::span<const std::byte> bytes = mapped.bytes();
  const ElfFile file(bytes, path.string());  // its headers lie within the file, then
  build_id = file.build_id();
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const auto headers = elements<Elf64_Shdr>(
      bytes.subspan(header.e_shoff, std::size_t{header.e_shnum} * sizeof(Elf64_Shdr)));
  const Elf64_Shdr& names = headers[header.e_shstrndx];
  for (const Elf64_Shdr& section : headers) {
    const std::string name =
        text_at(bytes.subspan(names.sh_offset, names.sh_size), section.sh_name);
    sections.emplace(name, ElfSection{section.sh_type, section.sh_flags, section.sh_size});
  }
  const std::uint64_t segments_bytes = std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr);
  if (header.e_phoff <= bytes.size() && segments_bytes <= bytes.size() - header.e_phoff) {
    for (const auto& segment :
         elements<Elf64_Phdr>(bytes.subspan(header.e_phoff, segments_bytes))) {
      if (segment.p_type == PT_GNU_STACK) has_executable_stack = (segment.p_flags & PF_X) != 0;
    }
  }
  if (const auto note = file.section(".note.gnu.property")) isa_needed = check::isa_needed(*note);
  const auto strings = file.section(".dynstr");
  if (!strings) return;
  if (const auto symbols = file.section(".dynsym")) {
    for (const Elf64_Sym& symbol : elements<Elf64_Sym>(*symbols)) {
      const int binding = ELF64_ST_BIND(symbol.st_info);
      if (binding == STB_LOCAL || symbol.st_name == 0) continue;
      const std::string name = text_at(*strings, symbol.st_name);
      if (symbol.st_shndx == SHN_UNDEF) {
        (binding == STB_WEAK ? weak_imports : imports).push_back(name);
      } else if (ELF64_ST_VISIBILITY(symbol.st_other) == STV_DEFAULT ||
                 ELF64_ST_VISIBILITY(symbol.st_other) == STV_PROTECTED) {
        exports.push_back(name);
      }
    }
  }
  if (const auto dynamic = file.section(".dynamic")) {
    for (const Elf64_Dyn& entry : elements<Elf64_Dyn>(*dynamic)) {
      if (entry.d_tag == DT_NULL) break;
      const std::uint64_t value = entry.d_un.d_val;
      if (entry.d_tag == DT_NEEDED) needed.push_back(text_at(*strings, value));
      if (entry.d_tag == DT_SONAME) soname = text_at(*strings, value);
      if (entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH) {
        split(text_at(*strings, value), path.parent_path(), &run_paths);
      }
      if (entry.d_tag == DT_TEXTREL) has_text_relocations = true;
      if (entry.d_tag == DT_FLAGS && (value & DF_TEXTREL) != 0) has_text_relocations = true;
    }
  }
}

std::optional<fs::path> find_library(const std::string& name,
                                     const std::vector<std::string>& run_paths) {
  std::error_code code;
  if (name.find('/') != std::string::npos) {
    return fs::exists(name, code) ? std::optional<fs::path>(name) : std::nullopt;
  }
  std::vector<std::string> folders = run_paths;
  if (const char* path = std::getenv("LD_LIBRARY_PATH")) split(path, {}, &folders);
  for (const char* folder : {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64",
                             "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"}) {
    folders.emplace_back(folder);
  }
  for (const std::string& folder : folders) {
    if (fs::exists(fs::path(folder) / name, code)) return fs::path(folder) / name;
  }
  return std::nullopt;
}

}  // namespace inlay::check
