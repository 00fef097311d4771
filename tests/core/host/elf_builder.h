// Makes small ELF files that hold a manifest and nothing to run, and folders to put plugins in.
//
//   ScratchFolder folder;
//   write_file(folder.path() / "acme.so", make_elf(manifest_json({.name = "acme"})));
#pragma once

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include "tests/core/base/scratch_folder.h"

namespace inlay {

struct ManifestFields {
  std::string name = "acme";
  std::string abi = "[1,0]";
  std::string sanitizer = "none";
  std::string cpu = "[]";
  std::string patterns = "[]";
};

inline std::string manifest_json(const ManifestFields& fields) {
  return R"({"abi":)" + fields.abi + R"(,"name":")" + fields.name +
         R"(","version":"1.0","library":"","threads":"host-pool","sanitizer":")" +
         fields.sanitizer + R"(","patterns":)" + fields.patterns + R"(,"cpu":)" + fields.cpu + "}";
}

// An x86-64 shared library of four sections: none, a dynamic section, the manifest, and the names.
inline std::string make_elf(std::string_view manifest) {
  const std::string names("\0.dynamic\0.inlay.manifest\0.shstrtab\0", 36);
  constexpr std::size_t kSections = 4;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_ehsize = sizeof(header);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = kSections;
  header.e_shstrndx = kSections - 1;
  header.e_shoff = sizeof(header);
  const std::size_t data = sizeof(header) + kSections * sizeof(Elf64_Shdr);
  Elf64_Shdr sections[kSections]{};
  sections[1] = {.sh_name = 1, .sh_type = SHT_DYNAMIC, .sh_offset = data};
  sections[2] = {
      .sh_name = 10, .sh_type = SHT_PROGBITS, .sh_offset = data, .sh_size = manifest.size()};
  sections[3] = {.sh_name = 26,
                 .sh_type = SHT_STRTAB,
                 .sh_offset = data + manifest.size(),
                 .sh_size = names.size()};
  std::string file(reinterpret_cast<const char*>(&header), sizeof(header));
  file.append(reinterpret_cast<const char*>(sections), sizeof(sections));
  return file.append(manifest).append(names);
}

}  // namespace inlay
