#include "search/cli/dynamic_section.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/rng.h"

namespace inlay::cli {
namespace {

using Bytes = std::vector<std::byte>;

// A library reduced to what the loader reads before it maps anything: one segment, one dynamic
// section, and its names at the end of the file.
struct Elf {
  static constexpr std::uint64_t kAddress = 0x10000;
  Elf64_Ehdr header{};
  Elf64_Phdr segments[2]{};
  Elf64_Dyn entries[6]{};
  char names[48] = "\0libtbb.so.12\0$ORIGIN\0libc.so.6\0libacme.so.1";

  Elf() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_machine = EM_X86_64;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phoff = offsetof(Elf, segments);
    header.e_phnum = 2;
    segments[0].p_type = PT_LOAD;
    segments[0].p_vaddr = kAddress;
    segments[0].p_filesz = sizeof(Elf);
    segments[1].p_type = PT_DYNAMIC;
    segments[1].p_offset = offsetof(Elf, entries);
    segments[1].p_filesz = sizeof entries;
    entries[0] = {DT_NEEDED, {1}};
    entries[1] = {DT_RUNPATH, {14}};
    entries[2] = {DT_STRTAB, {kAddress + offsetof(Elf, names)}};
    entries[3] = {DT_NEEDED, {22}};
    entries[4] = {DT_SONAME, {32}};
  }

  Bytes bytes() const {
    Bytes copy(offsetof(Elf, names) + 45);  // up to the last name's end
    std::memcpy(copy.data(), this, copy.size());
    return copy;
  }
};

const std::vector<std::string> kNeeded{"libtbb.so.12", "libc.so.6"};

// What reading the bytes as a library says is wrong with them.
std::string fault(const Bytes& bytes) {
  try {
    read_dynamic_section(bytes, "acme.so");
    return "none";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCorrupt);
    return error.what();
  }
}

TEST(DynamicSection, NamesWhatTheLoaderWillLookFor) {
  const DynamicSection section = read_dynamic_section(Elf().bytes(), "acme.so");
  EXPECT_EQ(section.needed, kNeeded);
  EXPECT_EQ(section.soname, "libacme.so.1");
  EXPECT_EQ(section.run_paths, std::vector<std::string>{"$ORIGIN"});
}

TEST(DynamicSection, LosesItsRunPathAndNothingElse) {
  const Bytes before = Elf().bytes();
  const Bytes after = without_run_path(before, "acme.so");
  const DynamicSection section = read_dynamic_section(after, "acme.so");
  EXPECT_EQ(section.needed, kNeeded);
  EXPECT_EQ(section.soname, "libacme.so.1");
  EXPECT_TRUE(section.run_paths.empty());
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool is_inside = i >= offsetof(Elf, entries) && i < offsetof(Elf, names);
    EXPECT_TRUE(is_inside || before[i] == after[i]) << i;
  }
}

TEST(DynamicSection, OfARealLibraryGetsAnotherRunPathThatHoldsForItsLibrariesToo) {
  const MappedFile file = map_file(INLAY_PLUGIN_DIR "/reference.so");
  const DynamicSection before = read_dynamic_section(file.bytes(), "reference.so");
  ASSERT_EQ(before.run_paths.size(), 1U);
  ASSERT_GE(before.run_paths[0].size(), 10U);
  const Bytes changed = with_run_path(file.bytes(), "reference.so", "$ORIGIN/..");
  const DynamicSection after = read_dynamic_section(changed, "reference.so");
  EXPECT_EQ(after.run_paths, std::vector<std::string>{"$ORIGIN/.."});
  EXPECT_EQ(after.needed, before.needed);
  EXPECT_EQ(changed.size(), file.bytes().size());
}

TEST(DynamicSection, WithoutRoomForARunPathHasNone) {
  const MappedFile file = map_file(INLAY_PLUGIN_DIR "/reference.so");
  const Bytes changed = with_run_path(file.bytes(), "reference.so", std::string(5000, 'x'));
  EXPECT_EQ(changed, without_run_path(file.bytes(), "reference.so"));
}

TEST(DynamicSection, ReadsARealLibrary) {
  const MappedFile file = map_file(INLAY_PLUGIN_DIR "/reference.so");
  const DynamicSection section = read_dynamic_section(file.bytes(), "reference.so");
  const auto is_libc = [](const std::string& name) { return name.starts_with("libc.so"); };
  EXPECT_TRUE(std::any_of(section.needed.begin(), section.needed.end(), is_libc));
}

TEST(DynamicSection, EveryTruncationIsAnError) {
  const Bytes whole = Elf().bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(fault(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)))
                    .starts_with("acme.so: "))
        << size;
  }
}

TEST(DynamicSection, OffsetsThatLeadOutsideTheFileAreErrors) {
  constexpr std::uint64_t kFar[] = {1 << 20, std::uint64_t{1} << 63, ~std::uint64_t{0} - 8,
                                    ~std::uint64_t{0}};
  for (const std::uint64_t far : kFar) {
    const std::pair<const char*, std::function<void(Elf&)>> damages[] = {
        {"cut short", [&](Elf& e) { e.header.e_phoff = far; }},
        {"cut short", [&](Elf& e) { e.segments[1].p_offset = far; }},
        {"an address outside", [&](Elf& e) { e.segments[0].p_vaddr = far; }},
        {"a name past the end", [&](Elf& e) { e.segments[0].p_offset = far / 2; }},
        {"an address outside", [&](Elf& e) { e.entries[2].d_un.d_ptr = far; }},
        {"a name past the end", [&](Elf& e) { e.entries[4].d_un.d_val = far; }},
    };
    for (const auto& [expected, damage] : damages) {
      Elf elf;
      damage(elf);
      EXPECT_NE(fault(elf.bytes()).find(expected), std::string::npos) << fault(elf.bytes());
    }
  }
}

TEST(DynamicSection, MissingPartsAreErrors) {
  const std::pair<const char*, std::function<void(Elf&)>> damages[] = {
      {"expected an x86-64 ELF file", [](Elf& e) { e.header.e_ident[1] = 'F'; }},
      {"expected an x86-64 ELF file", [](Elf& e) { e.header.e_machine = EM_AARCH64; }},
      {"expected a dynamic section", [](Elf& e) { e.header.e_phnum = 0; }},
      {"expected a dynamic section", [](Elf& e) { e.segments[1].p_filesz = sizeof(Elf64_Dyn); }},
      {"no string table", [](Elf& e) { e.entries[2].d_tag = DT_SYMTAB; }},
      {"a name without an end", [](Elf& e) { e.names[44] = 's'; }},
  };
  for (const auto& [expected, damage] : damages) {
    Elf elf;
    damage(elf);
    EXPECT_NE(fault(elf.bytes()).find(expected), std::string::npos) << fault(elf.bytes());
  }
}

// Any damage gives a result or an error; a sanitizer sees to it that nothing outside is read.
TEST(DynamicSection, RandomDamageIsReadOrRefused) {
  Rng rng(60);
  const Bytes whole = Elf().bytes();
  int refused = 0;
  constexpr int kTrials = 20000;
  for (int trial = 0; trial < kTrials; ++trial) {
    Bytes damaged = whole;
    for (std::uint64_t changes = 1 + rng.below(4); changes > 0; --changes) {
      damaged[rng.below(damaged.size())] = static_cast<std::byte>(rng.below(256));
    }
    refused += fault(damaged) != "none";
    try {
      EXPECT_EQ(without_run_path(damaged, "acme.so").size(), damaged.size());
      EXPECT_EQ(with_run_path(damaged, "acme.so", "$LIB").size(), damaged.size());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kCorrupt);
    }
  }
  EXPECT_GT(refused, kTrials / 4);
  EXPECT_LT(refused, kTrials);
}

}  // namespace
}  // namespace inlay::cli
