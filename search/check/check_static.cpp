#include <elf.h>
#include <fmt/ranges.h>
#include <link.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>
#include <unordered_set>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/layout.h"
#include "core/run/compare.h"
#include "graphs/ir/op_table.h"
#include "graphs/pattern/pattern.h"
#include "search/candidates/candidates.h"
#include "search/check/declared_failures.h"
#include "search/check/families.h"
#include "search/check/verdict.h"

namespace inlay::check {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNamesShown = 5;

std::string listed(std::vector<std::string> names) {
  const std::size_t count = names.size();
  names.resize(std::min(count, kNamesShown));
  return fmt::format("{}{}", fmt::join(names, ", "),
                     count > kNamesShown ? fmt::format(" and {} more", count - kNamesShown) : "");
}

// The files of this process's libraries, by the names they are known by.
std::vector<fs::path> loaded_libraries() {
  std::vector<fs::path> paths;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        if (info->dlpi_name != nullptr && info->dlpi_name[0] == '/') {
          static_cast<std::vector<fs::path>*>(out)->emplace_back(info->dlpi_name);
        }
        return 0;
      },
      &paths);
  return paths;
}

std::vector<int> version_of(const std::string& file_name) {
  std::vector<int> version;
  const std::size_t so = file_name.find(".so.");
  for (std::size_t i = so == std::string::npos ? file_name.size() : so + 4; i < file_name.size();) {
    int number = 0;
    const auto end = std::from_chars(&file_name[i], file_name.data() + file_name.size(), number);
    if (end.ec != std::errc()) break;
    version.push_back(number);
    i = static_cast<std::size_t>(end.ptr - file_name.data()) + 1;
  }
  return version;
}

// Every library that the plugin will have, itself first; `absent` gets those that are nowhere.
std::vector<fs::path> closure_of(const fs::path& plugin, std::vector<std::string>* absent) {
  std::vector<fs::path> files = {plugin};
  std::set<std::string> names;
  const std::vector<fs::path> loaded = loaded_libraries();
  std::vector<std::string> run_paths;  // DT_RPATH holds for what a library needs in turn
  for (std::size_t i = 0; i < files.size(); ++i) {
    const ElfImage image(fs::canonical(files[i]));
    run_paths.insert(run_paths.end(), image.run_paths.begin(), image.run_paths.end());
    for (const std::string& name : image.needed) {
      if (!names.insert(name).second) continue;
      // What this process has already is what the loader takes.
      const auto known = std::find_if(loaded.begin(), loaded.end(), [&](const fs::path& path) {
        return path.filename() == name;
      });
      if (known != loaded.end()) {
        files.push_back(*known);
      } else if (const auto found = find_library(name, run_paths)) {
        files.push_back(*found);
      } else {
        absent->push_back(fmt::format("{} (for {})", name, files[i].filename().string()));
      }
    }
  }
  return files;
}

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

void single_export(Subject& subject) {
  std::vector<std::string> exports = subject.elf().exports;
  std::erase(exports, "inlay_plugin_query");
  require(exports.size() < subject.elf().exports.size(),
          "expected the export inlay_plugin_query, found none");
  require(exports.empty(), "expected inlay_plugin_query to be the only export, found also {}",
          listed(exports));
}

void no_host_imports(Subject& subject) {
  std::vector<std::string> wanted;
  for (const auto* list : {&subject.elf().imports, &subject.elf().weak_imports}) {
    for (const std::string& name : *list) {
      if (name.starts_with("inlay") || name.find("5inlay") != std::string::npos) {
        wanted.push_back(name);
      }
    }
  }
  require(wanted.empty(), "expected no symbols of Inlay's among the imports, found {}",
          listed(wanted));
}

void manifest_schema(Subject& subject) {
  const Manifest& manifest = subject.manifest();  // throws with key, expected and found
  for (const ManifestPattern& pattern : manifest.patterns) {
    try {
      if (pattern.tolerance != "region") parse_tolerance(pattern.tolerance);
    } catch (const Error& error) {
      fail("pattern '{}': tolerance: {}", pattern.id, error.what());
    }
  }
  const std::string fault = pattern_fault(manifest);
  require(fault.empty(), "{}", fault);
  for (const ManifestPattern& pattern : manifest.patterns) {
    for (const std::string& op : pattern.ops) {
      require(find_op(op) != nullptr || op.find('.') != std::string::npos,
              "pattern '{}': ops: '{}' is no canonical operator", pattern.id, op);
    }
  }
  const std::string xfail = fault_of_declared_failures(subject.json());
  require(xfail.empty(), "{}", xfail);
}

void manifest_section_readable(Subject& subject) {
  const auto found = subject.elf().sections.find(".inlay.manifest");
  require(found != subject.elf().sections.end(), "expected a section .inlay.manifest, found none");
  const ElfSection& section = found->second;
  require(section.type == SHT_PROGBITS, "expected a section of type PROGBITS ({}), found type {}",
          SHT_PROGBITS, section.type);
  require((section.flags & SHF_ALLOC) != 0,
          "expected an allocated section, which strip keeps, found flags {:#x}", section.flags);
  require((section.flags & SHF_WRITE) == 0, "expected a read-only section, found flags {:#x}",
          section.flags);
  subject.json();
}

void cpu_needs_declared(Subject& subject) {
  // The names of core/host/cpu_features.cpp.
  static constexpr const char* kKnown[] = {"sse3",
                                           "ssse3",
                                           "sse4.1",
                                           "sse4.2",
                                           "popcnt",
                                           "avx",
                                           "fma",
                                           "f16c",
                                           "avx2",
                                           "bmi1",
                                           "bmi2",
                                           "avx_vnni",
                                           "avx512f",
                                           "avx512dq",
                                           "avx512ifma",
                                           "avx512cd",
                                           "avx512bw",
                                           "avx512vl",
                                           "avx512_vbmi",
                                           "avx512_vbmi2",
                                           "avx512_vnni",
                                           "avx512_bitalg",
                                           "avx512_vpopcntdq",
                                           "avx512_fp16",
                                           "avx512_bf16",
                                           "amx_bf16",
                                           "amx_tile",
                                           "amx_int8"};
  const auto require_known = [](std::string feature, const std::string& where) {
    if (feature.starts_with('!')) feature.erase(0, 1);
    require(std::find(std::begin(kKnown), std::end(kKnown), feature) != std::end(kKnown),
            "{}: expected a CPU feature such as avx2, found '{}'", where, feature);
  };
  const Manifest& manifest = subject.manifest();
  for (const std::string& feature : manifest.cpu) require_known(feature, "cpu");
  for (const ManifestPattern& pattern : manifest.patterns) {
    for (const std::string& feature : pattern.cpu) {
      require_known(feature, fmt::format("pattern '{}': cpu", pattern.id));
    }
  }
  // Bits of the psABI's property: 1 baseline, 2 v2, 4 v3, 8 v4.
  const auto declares = [&](const char* feature) {
    return std::count(manifest.cpu.begin(), manifest.cpu.end(), feature) != 0;
  };
  const std::uint32_t isa = subject.elf().isa_needed;
  require((isa & 8) == 0 || declares("avx512f"),
          "the file's property note says that its code needs x86-64-v4; the manifest's cpu lacks "
          "avx512f");
  require(
      (isa & 4) == 0 || declares("avx2"),
      "the file's property note says that its code needs x86-64-v3; the manifest's cpu lacks avx2");
}

void dependency_shadowing(Subject& subject) {
  const ElfImage& image = subject.elf();
  const std::vector<fs::path> loaded = loaded_libraries();
  for (const std::string& name : image.needed) {
    const auto taken = std::find_if(loaded.begin(), loaded.end(),
                                    [&](const fs::path& path) { return path.filename() == name; });
    if (taken == loaded.end()) continue;
    for (const std::string& folder : image.run_paths) {
      std::error_code code;
      const fs::path own = fs::path(folder) / name;
      if (!fs::exists(own, code)) continue;
      const fs::path own_file = fs::canonical(own, code);
      const fs::path taken_file = fs::canonical(*taken, code);
      if (own_file == taken_file) break;
      const std::vector<int> own_version = version_of(own_file.filename().string());
      const std::vector<int> taken_version = version_of(taken_file.filename().string());
      // Names say nothing about versions that are equally long and equal.
      require(own_version <= taken_version || own_version.size() <= 1 || taken_version.size() <= 1,
              "{} on the plugin's run path would be {}; the host has {} of that name already, and "
              "the plugin gets that older one",
              name, own_file.string(), taken_file.string());
      break;
    }
  }
}

void relocations_resolve(Subject& subject) {
  std::vector<std::string> absent;
  const std::vector<fs::path> files = closure_of(subject.path(), &absent);
  require(absent.empty(), "libraries that are found nowhere: {}", listed(absent));
  std::unordered_set<std::string> offered;
  for (const fs::path& file : files) {
    for (std::string& name : ElfImage(fs::canonical(file)).exports) offered.insert(std::move(name));
  }
  std::vector<std::string> unresolved;
  for (const std::string& name : subject.elf().imports) {
    // The loader itself gives these.
    if (name == "__tls_get_addr" || offered.count(name) != 0) continue;
    unresolved.push_back(name);
  }
  require(unresolved.empty(), "symbols that no library it is linked with defines: {}",
          listed(unresolved));
}

void file_permissions(Subject& subject) {
  struct stat status {};
  require(::stat(subject.path().c_str(), &status) == 0, "cannot stat the file: {}",
          std::strerror(errno));
  require((status.st_mode & S_IWOTH) == 0, "anybody may write to the file (mode {:o})",
          status.st_mode & 07777);
  require(status.st_uid == 0 || status.st_uid == ::geteuid(),
          "the file belongs to user {}, who is neither you nor root", status.st_uid);
  struct stat folder {};
  const fs::path parent = subject.path().parent_path();
  require(::stat(parent.c_str(), &folder) == 0, "cannot stat its folder: {}", std::strerror(errno));
  const bool is_open = (folder.st_mode & S_IWOTH) != 0 && (folder.st_mode & S_ISVTX) == 0;
  require(!is_open, "anybody may replace the file: its folder has mode {:o}",
          folder.st_mode & 07777);
}

void sanitizer_match(Subject& subject) {
  std::string found = "none";
  for (const auto* list : {&subject.elf().imports, &subject.elf().weak_imports}) {
    for (const std::string& name : *list) {
      if (name == "__asan_init") found = "address";
      if (name == "__tsan_init") found = "thread";
    }
  }
  require(subject.manifest().sanitizer == found,
          "expected the manifest to say \"sanitizer\": \"{}\", as the file's symbols do, found "
          "\"{}\"",
          found, subject.manifest().sanitizer);
}

void scan_time(Subject& subject) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  constexpr double kMostSeconds = 0.2;
  const std::size_t size = subject.manifest_text().size();
  require(size <= kMostBytes, "expected a manifest of at most {} bytes, found {}", kMostBytes,
          size);
  // The best of a few: other programs may have the processor's caches.
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const double begin = cpu_seconds();
    const Manifest manifest = read_manifest(subject.path());
    const std::string fault = pattern_fault(manifest);
    best = std::min(best, cpu_seconds() - begin);
  }
  require(best <= kMostSeconds, "expected the manifest to be read in {} s, it took {:.3f} s",
          kMostSeconds, best);
}

void build_id_present(Subject& subject) {
  require(!subject.elf().build_id.empty(), "expected a GNU build id, found none");
}

void memory_protection(Subject& subject) {
  require(!subject.elf().has_executable_stack,
          "the file asks for an executable stack (PT_GNU_STACK with the flag X)");
  require(
      !subject.elf().has_text_relocations,
      "the file has relocations in its code (DT_TEXTREL), which must be made writable for them");
}

}  // namespace inlay::check
