#include "core/host/manifest.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/rng.h"
#include "core/host/elf_file.h"
#include "tests/core/host/elf_builder.h"

namespace inlay {
namespace {

const std::string kTemplate = std::string(INLAY_BINARY_DIR) + "/examples/template.so";

std::string error_of(const std::string& elf) {
  const ScratchFolder folder;
  write_file(folder.path() / "acme.so", elf);
  try {
    read_manifest(folder.path() / "acme.so");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCorrupt) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

void expect_error(const std::string& json, const std::vector<std::string>& parts) {
  const std::string text = error_of(make_elf(json));
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
  }
}

// A copy of bytes that ends where a page ends that nobody may touch: reading past them crashes,
// with or without a sanitizer.
class Guarded {
 public:
  explicit Guarded(std::string_view bytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t body = (bytes.size() + page - 1) / page * page;
    size_ = body + page;
    base_ = static_cast<char*>(
        ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED || ::mprotect(base_ + body, page, PROT_NONE) != 0) {
      throw std::runtime_error("no guard page");
    }
    char* begin = base_ + body - bytes.size();
    std::copy(bytes.begin(), bytes.end(), begin);
    bytes_ = std::as_bytes(std::span(begin, bytes.size()));
  }
  ~Guarded() { ::munmap(base_, size_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  char* base_;
  std::size_t size_;
  std::span<const std::byte> bytes_;
};

// Reads all there is to read; true if nothing was wrong.
bool is_readable(std::string_view file) {
  const Guarded guarded(file);
  try {
    const ElfFile elf(guarded.bytes(), "fuzzed");
    const auto section = elf.section(".inlay.manifest");
    std::size_t sum = elf.build_id().size();
    if (section) {
      for (const std::byte b : *section) sum += std::to_integer<std::size_t>(b);
    }
    return section.has_value() && sum > 0;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCorrupt);
    return false;
  }
}

TEST(Manifest, OfARealPluginIsReadWithoutLoadingIt) {
  const Manifest manifest = read_manifest(kTemplate);
  EXPECT_EQ(manifest.name, "template");
  EXPECT_EQ(manifest.version, "1.0");
  EXPECT_EQ(manifest.abi_major, 1);
  EXPECT_EQ(manifest.threads, "host-pool");
  ASSERT_EQ(manifest.patterns.size(), 2u);
  EXPECT_EQ(manifest.patterns[0].id, "relu");
  EXPECT_EQ(manifest.patterns[0].alias, "out=X");
  EXPECT_EQ(manifest.patterns[1].match, "Add(Mul(X,S),B)");
  EXPECT_EQ(manifest.patterns[1].tolerance, "elementwise");
}

TEST(Manifest, BuildIdIsTheLinkersSha1) {
  const std::string id = read_build_id(kTemplate);
  EXPECT_EQ(id.size(), 40u);
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos) << id;
}

TEST(Manifest, WrittenByHandMayLeaveOutTheOptionalKeysAndEndWithNul) {
  const ScratchFolder folder;
  const std::string json =
      R"({"abi":[1,3],"name":"c","version":"2","threads":"fixed","sanitizer":"none","later":7,)"
      R"("patterns":[{"id":"a","ops":["Relu","Abs"],"cpu":["avx2"]}]})";
  write_file(folder.path() / "c.so", make_elf(json + std::string(3, '\0')));
  const Manifest manifest = read_manifest(folder.path() / "c.so");
  EXPECT_EQ(manifest.abi_minor, 3);
  EXPECT_EQ(manifest.patterns.at(0).ops, (std::vector<std::string>{"Relu", "Abs"}));
  EXPECT_EQ(manifest.patterns.at(0).cpu, (std::vector<std::string>{"avx2"}));
  EXPECT_EQ(manifest.patterns.at(0).tolerance, "accum");
  EXPECT_EQ(read_build_id(folder.path() / "c.so"), "");
}

TEST(Manifest, ErrorsNameKeyExpectedAndFound) {
  expect_error("{", {"manifest", "expected JSON"});
  expect_error("", {"expected JSON"});
  expect_error("[]", {"expected an object, found array"});
  expect_error(R"({"name":"a"})", {"abi", "expected a value, found nothing"});
  expect_error(manifest_json({.abi = "[1]"}), {"abi", "array of two numbers", "[1]"});
  expect_error(manifest_json({.abi = "[1,-1]"}), {"abi[1]", "-1"});
  expect_error(manifest_json({.abi = "[1,99999999999]"}), {"abi[1]", "99999999999"});
  expect_error(manifest_json({.name = ""}), {"name", "an empty one"});
  expect_error(manifest_json({.name = "a b"}), {"name", "letters", "a b"});
  expect_error(manifest_json({.name = std::string(65, 'a')}), {"name", "up to 64", "65"});
  expect_error(manifest_json({.sanitizer = "memory"}), {"sanitizer", "address", "'memory'"});
  expect_error(manifest_json({.cpu = "\"avx2\""}), {"cpu", "array of strings", "string"});
  expect_error(manifest_json({.patterns = "{}"}), {"patterns", "an array", "object"});
  expect_error(manifest_json({.patterns = "[3]"}), {"patterns[0]", "an object", "number"});
  expect_error(manifest_json({.patterns = R"j([{"match":"Relu(X)"}])j"}), {"patterns[0].id"});
  expect_error(manifest_json({.patterns = R"([{"id":"a","match":1}])"}),
               {"patterns[0].match", "a string", "number"});
  expect_error(manifest_json({.patterns = R"([{"id":"a"}])"}),
               {"patterns[0]", "one of match, ops and any", "none"});
  expect_error(manifest_json({.patterns = R"j([{"id":"a","match":"R(X)","ops":["R"]}])j"}),
               {"patterns[0]", "match and ops"});
  expect_error(manifest_json({.patterns = R"([{"id":"a","ops":["R"],"any":{"opset":20}}])"}),
               {"patterns[0]", "ops and any"});
  expect_error(manifest_json({.patterns = R"([{"id":"a","ops":[1]}])"}), {"patterns[0].ops[0]"});
  expect_error(manifest_json({.patterns = R"([{"id":"a","ops":["R"]},{"id":"a","ops":["R"]}])"}),
               {"patterns[1].id", "one used above"});
}

TEST(Manifest, EnginesRuleIsRead) {
  const ScratchFolder folder;
  write_file(folder.path() / "e.so",
             make_elf(manifest_json({.patterns = R"([{"id":"r","tolerance":"region","any":)"
                                                 R"({"opset":18,"deny":["LSTM"],"allow":["Conv"],)"
                                                 R"("dtypes":["f32","i64"],"max_nodes":7,)"
                                                 R"("max_regions":3,"later":1}}])"})));
  const EngineRule rule = read_manifest(folder.path() / "e.so").patterns.at(0).any;
  EXPECT_EQ(rule.opset, 18);
  EXPECT_EQ(rule.deny, std::vector<std::string>{"LSTM"});
  EXPECT_EQ(rule.allow, std::vector<std::string>{"Conv"});
  EXPECT_EQ(rule.dtypes, (std::vector<std::string>{"f32", "i64"}));
  EXPECT_EQ(rule.max_nodes, 7);
  EXPECT_EQ(rule.max_regions, 3);
}

TEST(Manifest, MistakesInAnEnginesRuleAreNamed) {
  const auto rule = [](const std::string& any) {
    return manifest_json({.patterns = R"([{"id":"r","any":)" + any + "}]"});
  };
  expect_error(rule("[]"), {"patterns[0].any", "an object, found array"});
  expect_error(rule("{}"), {"patterns[0].any.opset", "found nothing"});
  expect_error(rule(R"({"opset":0})"), {"patterns[0].any.opset", "0"});
  expect_error(rule(R"({"opset":-3})"), {"patterns[0].any.opset", "a whole number", "-3"});
  expect_error(rule(R"({"opset":20,"deny":"LSTM"})"), {"patterns[0].any.deny", "array"});
  expect_error(rule(R"({"opset":20,"dtypes":["f32","float"]})"),
               {"patterns[0].any.dtypes[1]", "an element type", "'float'"});
  expect_error(rule(R"({"opset":20,"max_nodes":"all"})"), {"patterns[0].any.max_nodes", "all"});
}

TEST(Manifest, MissingKeysAreEachNamed) {
  const std::string whole = manifest_json({});
  for (const char* key : {"abi", "name", "version", "threads", "sanitizer", "patterns"}) {
    std::string json = whole;
    json.replace(json.find("\"" + std::string(key) + "\""), 2, "\"x");
    expect_error(json, {std::string("manifest: ") + key, "found nothing"});
  }
}

TEST(Manifest, DeepNestingAndBrokenUtf8AreErrors) {
  expect_error(std::string(200000, '['), {"expected JSON"});
  expect_error("{\"name\":\"\xff\xfe\"}", {"expected JSON"});
}

TEST(Manifest, FilesThatAreNoPluginAreErrors) {
  EXPECT_NE(error_of("#!/bin/sh\n").find("expected an ELF file"), std::string::npos);
  EXPECT_NE(error_of("").find("expected an ELF file"), std::string::npos);
  std::string elf = make_elf(manifest_json({}));
  elf[offsetof(Elf64_Ehdr, e_machine)] = static_cast<char>(EM_AARCH64);
  EXPECT_NE(error_of(elf).find("expected ELF for x86-64"), std::string::npos);
  elf = make_elf(manifest_json({}));
  elf[offsetof(Elf64_Ehdr, e_type)] = ET_EXEC;
  EXPECT_NE(error_of(elf).find("expected a shared library"), std::string::npos);
  elf = make_elf(manifest_json({}));
  elf[elf.find(".inlay")] = '_';
  EXPECT_NE(error_of(elf).find("expected a section .inlay.manifest"), std::string::npos);
  EXPECT_THROW(read_manifest("/no/such/file.so"), Error);
}

TEST(ElfFile, TruncatedAnywhereNeverReadsPastTheEnd) {
  const std::string small = make_elf(manifest_json({}));
  ASSERT_TRUE(is_readable(small));
  for (std::size_t size = 0; size < small.size(); ++size) {
    EXPECT_FALSE(is_readable(std::string_view(small).substr(0, size))) << size;
  }
  // Of a real library every length near its start and its end, where the headers are.
  const std::string real = read_text(kTemplate);
  ASSERT_TRUE(is_readable(real));
  for (std::size_t size = 0; size < real.size(); ++size) {
    if (size > 4096 && size + 4096 < real.size() && size % 97 != 0) continue;
    EXPECT_FALSE(is_readable(std::string_view(real).substr(0, size))) << size;
  }
}

TEST(ElfFile, RandomByteFlipsNeverReadPastTheEnd) {
  Rng rng(7);
  const std::string small = make_elf(manifest_json({}));
  const std::string real = read_text(kTemplate);
  const std::size_t headers = real.size() > 4096 ? real.size() - 4096 : 0;  // at its end
  int readable = 0;
  for (int i = 0; i < 20000; ++i) {
    const bool is_small = i % 4 != 0;
    std::string file = is_small ? small : real;
    const std::uint64_t flips = 1 + rng.below(4);
    for (std::uint64_t k = 0; k < flips; ++k) {
      const std::size_t where = is_small || rng.below(4) == 0
                                    ? rng.below(std::min<std::size_t>(file.size(), 400))
                                    : headers + rng.below(file.size() - headers);
      // Extreme values are those that overflow sums.
      const std::uint64_t kind = rng.below(3);
      file[where] = static_cast<char>(kind == 0 ? 0xFF : kind == 1 ? 0 : rng.below(256));
    }
    readable += is_readable(file) ? 1 : 0;
  }
  EXPECT_GT(readable, 0);      // some flips do no harm
  EXPECT_LT(readable, 20000);  // and some do
}

TEST(ElfFile, OffsetsThatOverflowAreRefused) {
  const std::string whole = make_elf(manifest_json({}));
  const auto with = [&](std::size_t offset, std::uint64_t value) {
    std::string file = whole;
    std::memcpy(file.data() + offset, &value, sizeof(value));
    return file;
  };
  const std::size_t manifest_header = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Shdr);
  for (const std::uint64_t huge : {~std::uint64_t{0}, ~std::uint64_t{0} - 63,
                                   std::uint64_t{1} << 63, std::uint64_t{1} << 32}) {
    EXPECT_FALSE(is_readable(with(offsetof(Elf64_Ehdr, e_shoff), huge)));
    EXPECT_FALSE(is_readable(with(manifest_header + offsetof(Elf64_Shdr, sh_offset), huge)));
    EXPECT_FALSE(is_readable(with(manifest_header + offsetof(Elf64_Shdr, sh_size), huge)));
  }
}

}  // namespace
}  // namespace inlay
