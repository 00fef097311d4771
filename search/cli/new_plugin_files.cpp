#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <system_error>
#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"
#include "search/cli/new_plugin.h"

// Made by cmake/embed_texts.cmake.
std::span<const inlay::EmbeddedText> inlay_new_plugin_texts();

namespace inlay::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestName = 64;

// Reserved in C, in C++ or in both.
// source  ISO C11 6.4.1; ISO C++20 [lex.key]
constexpr std::string_view kReserved[] = {"alignas",       "alignof",     "and",
                                          "and_eq",        "asm",         "auto",
                                          "bitand",        "bitor",       "bool",
                                          "break",         "case",        "catch",
                                          "char",          "char8_t",     "char16_t",
                                          "char32_t",      "class",       "co_await",
                                          "co_return",     "co_yield",    "compl",
                                          "concept",       "const",       "const_cast",
                                          "consteval",     "constexpr",   "constinit",
                                          "continue",      "decltype",    "default",
                                          "delete",        "do",          "double",
                                          "dynamic_cast",  "else",        "enum",
                                          "explicit",      "export",      "extern",
                                          "false",         "float",       "for",
                                          "friend",        "goto",        "if",
                                          "inline",        "int",         "long",
                                          "mutable",       "namespace",   "new",
                                          "noexcept",      "not",         "not_eq",
                                          "nullptr",       "operator",    "or",
                                          "or_eq",         "private",     "protected",
                                          "public",        "register",    "requires",
                                          "restrict",      "return",      "short",
                                          "signed",        "sizeof",      "static",
                                          "static_assert", "static_cast", "struct",
                                          "switch",        "template",    "this",
                                          "thread_local",  "throw",       "true",
                                          "try",           "typedef",     "typeid",
                                          "typename",      "union",       "unsigned",
                                          "using",         "virtual",     "void",
                                          "volatile",      "wchar_t",     "while",
                                          "xor",           "xor_eq",      "reinterpret_cast"};

// Stand for something else in reports and flags, or are Inlay's own whether they are there or not.
constexpr std::string_view kInlaysOwn[] = {"inlay", "host", "reference", "all"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

[[noreturn]] void refuse_name(const std::string& name, const std::string& expected) {
  throw Error(Code::kInvalidArgument,
              fmt::format("new-plugin: expected {}, found '{}'", expected, name));
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// A path inside quotes of CMake.
std::string quoted_for_cmake(const fs::path& path) {
  std::string text;
  for (const char c : path.string()) {
    if (c == '\\' || c == '"' || c == '$') text += '\\';
    text += c;
  }
  return text;
}

}  // namespace

void check_plugin_name(const std::string& name, const std::vector<std::string>& taken) {
  const auto is_plain = [](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  if (name.empty() || name.size() > kLongestName || !is_letter(name[0]) ||
      !std::all_of(name.begin(), name.end(), is_plain)) {
    refuse_name(name, fmt::format("a name of a letter and then letters, digits and '_', up to {}",
                                  kLongestName));
  }
  if (std::count(std::begin(kReserved), std::end(kReserved), name) != 0) {
    refuse_name(name, "a name that is no word of C or C++");
  }
  const bool is_taken = std::count(std::begin(kInlaysOwn), std::end(kInlaysOwn), name) != 0 ||
                        std::count(taken.begin(), taken.end(), name) != 0;
  if (is_taken) refuse_name(name, "a name that no plugin has");
}

std::vector<NewFile> new_plugin_files(const NewPlugin& plugin) {
  std::vector<NewFile> files;
  for (const EmbeddedText& embedded : inlay_new_plugin_texts()) {
    std::string text(embedded.text);
    text = replaced(std::move(text), ".name = \"template\"",
                    fmt::format(".name = \"{}\"", plugin.name));
    text = replaced(std::move(text), "@NAME@", plugin.name);
    text = replaced(std::move(text), "@VERSION@", INLAY_MINOR_VERSION);
    text = replaced(std::move(text), "@PREFIX@", quoted_for_cmake(plugin.prefix));
    files.push_back({replaced(std::string(embedded.name), "NAME", plugin.name), std::move(text)});
  }
  return files;
}

void write_new_folder(const fs::path& folder, const std::vector<NewFile>& files) {
  const auto fail = [&](Code code, const std::string& found) {
    throw Error(code, fmt::format("--dir {}: expected a new or empty folder, found {}",
                                  folder.string(), found));
  };
  std::error_code code;
  const bool was_there = fs::exists(fs::symlink_status(folder, code));
  if (was_there && !fs::is_directory(folder)) fail(Code::kInvalidArgument, "a file");
  if (was_there) {
    const fs::directory_iterator first(folder, code);
    if (code) fail(Code::kIo, fmt::format("one that cannot be read: {}", code.message()));
    if (first != fs::directory_iterator()) {
      fail(Code::kInvalidArgument, fmt::format("'{}' in it", first->path().filename().string()));
    }
  }
  std::vector<fs::path> made;  // in the order in which they came to be
  const auto make_folders = [&](const fs::path& wanted) {
    std::vector<fs::path> missing;
    for (fs::path at = fs::absolute(wanted).lexically_normal(); !fs::exists(at, code);
         at = at.parent_path()) {
      if (at.has_filename()) missing.push_back(at);
    }
    for (auto at = missing.rbegin(); at != missing.rend(); ++at) {
      fs::create_directory(*at, code);
      if (code) {
        throw Error(Code::kIo, fmt::format("--dir {}: folder '{}' cannot be made: {}",
                                           folder.string(), at->string(), code.message()));
      }
      made.push_back(*at);
    }
  };
  try {
    make_folders(folder);
    for (const NewFile& file : files) {
      const fs::path path = folder / file.path;
      make_folders(path.parent_path());
      made.push_back(path);
      write_file(path, file.text);
    }
  } catch (...) {
    for (auto path = made.rbegin(); path != made.rend(); ++path) fs::remove(*path, code);
    throw;
  }
}

}  // namespace inlay::cli
