#include <algorithm>
#include <charconv>
#include <iterator>

#include "search/check/check.h"
#include "search/check/families.h"

namespace inlay::check {
namespace {

constexpr Check kChecks[] = {
    // clang-format off
    {1, "single-export", Family::kStatic, single_export,
     "exports inlay_plugin_query and nothing else",
     "a second export can take the place of another library's function of that name",
     "hide everything: -fvisibility=hidden and a version script (inlay_add_plugin gives both)"},
    {2, "no-host-imports", Family::kStatic, no_host_imports,
     "takes nothing from the host but the table that init is given",
     "a symbol of the host's is there in one program and missing in the next",
     "link none of Inlay's libraries; use the SDK's headers and the host table"},
    {3, "manifest-schema", Family::kStatic, manifest_schema,
     "has a manifest of known form, whose patterns parse",
     "a plugin whose patterns cannot be read is refused as a whole",
     "let INLAY_PLUGIN write the manifest, or follow the keys in core/host/manifest.h"},
    {4, "manifest-section-readable", Family::kStatic, manifest_section_readable,
     "has its manifest in a read-only, allocated section .inlay.manifest",
     "strip drops sections that are not allocated, and the host reads the file without loading it",
     "use INLAY_MANIFEST_SECTION (core/sdk/manifest.h) for the constant"},
    {5, "cpu-needs-declared", Family::kStatic, cpu_needs_declared,
     "names the CPU features it needs by names that the host knows",
     "an unknown name is a feature that no machine has; an undeclared need ends in SIGILL",
     "write cpu features as /proc/cpuinfo does, in PluginInfo::cpu or Pattern::cpu"},
    {6, "dependency-shadowing", Family::kStatic, dependency_shadowing,
     "needs no newer copy of a library than the one the process has",
     "of two libraries of one SONAME the first loaded serves both, so the plugin gets the old one",
     "link the host's library (Inlay's own oneTBB), or one that is no newer"},
    {7, "relocations-resolve", Family::kStatic, relocations_resolve,
     "finds every symbol it wants in the libraries it is linked with",
     "a symbol that is there by accident is missing in another program",
     "link with -Wl,-z,defs and name every library that is used"},
    {8, "file-permissions", Family::kStatic, file_permissions,
     "is a file that only its owner can change",
     "whoever may write to the file runs code as whoever loads it; the host refuses it",
     "chmod o-w the file and its folder"},
    {9, "query-pure", Family::kLoad, query_pure,
     "gives the same unchanged table whenever and from wherever it is queried",
     "the host queries before init and may do so again, from any thread",
     "return the address of one constant table"},
    {10, "query-refuses-major", Family::kLoad, query_refuses_major,
     "gives no table to a host of another major",
     "a host of another major would read the table wrongly",
     "return null unless host_major == INLAY_ABI_MAJOR"},
    {11, "older-host", Family::kLoad, older_host,
     "runs on a host whose table lacks the newer entries",
     "minors are free both ways: users update host and plugins apart",
     "read a field only if INLAY_HAS says it is there (complete_host in core/sdk/host_table.h)"},
    {12, "newer-host", Family::kLoad, newer_host,
     "runs on a host of a newer minor with a larger table",
     "minors are free both ways: a newer host is no error",
     "check abi_major for equality and nothing else"},
    {13, "oversized-structs", Family::kLoad, oversized_structs,
     "writes no further into a struct than its struct_size and this ABI reach",
     "an older caller's struct is shorter: what lies behind it is overwritten",
     "write a field only if INLAY_HAS says that the caller's struct has it"},
    {14, "init-twice", Family::kLoad, init_twice,
     "counts inits, and runs again after the last deinit",
     "two hosts in one process use one library",
     "count in init and deinit; start at the first, stop at the last"},
    {15, "wrong-order", Family::kLoad, wrong_order,
     "answers calls in the wrong order or without arguments with an error",
     "a host's mistake should be a message, not a crash",
     "check every pointer and index that comes in; return INLAY_INVALID"},
    {16, "two-clients", Family::kLoad, two_clients,
     "serves two devices of two hosts at once",
     "a plugin that keeps one client's state in globals mixes up or hangs the second",
     "keep state in the device, program and instance; guard what is global"},
    {17, "clean-exit", Family::kLoad, clean_exit,
     "lets the process end normally after use",
     "destructors of globals run when the host is gone: a crash after the work is done",
     "stop threads in deinit; let global destructors do nothing that needs host or library"},
    {18, "scan-time", Family::kStatic, scan_time,
     "has a manifest that is read in a moment",
     "every program that looks for plugins reads every manifest",
     "declare fewer and wider patterns"},
    {19, "sanitizer-match", Family::kStatic, sanitizer_match,
     "says in its manifest which sanitizer it is built with",
     "a sanitizer's library ends a process that does not have it when it is loaded",
     "compile manifest and code with the same flags; the SDK then writes it"},
    {20, "outputs-untouched", Family::kErrors, outputs_untouched,
     "leaves outputs as they are where it returns an error",
     "a caller that sees an error may still use what it had",
     "write to *out and to tensors only when nothing can fail any more"},
    {21, "null-destroy", Family::kErrors, null_destroy,
     "accepts null wherever something is destroyed",
     "clean-up after a failed step passes what it has",
     "begin every destroy with: if it is null, return"},
    {22, "error-text", Family::kErrors, error_text,
     "says in UTF-8 what is wrong, in the struct that it is given, if it is given one",
     "the text is all that a user gets to see",
     "fill code and text by inlay::sdk::fail, or as it does"},
    {23, "allocation-failure", Family::kErrors, allocation_failure,
     "answers INLAY_NO_MEMORY when an allocation fails, and works again afterwards",
     "memory runs short in long searches; the host frees some and repeats the call",
     "catch std::bad_alloc in every entry (inlay::sdk::guarded); check malloc's result"},
    {24, "no-exceptions", Family::kErrors, no_exceptions,
     "returns a status whatever region it is given",
     "an exception, abort or exit that leaves a plugin ends the user's program",
     "wrap every entry in inlay::sdk::guarded; decline what the kernel does not know"},
    {25, "unknown-option", Family::kErrors, unknown_option,
     "refuses an option that it does not know, by name",
     "a misspelt option that is passed over is a setting that silently does nothing",
     "return INLAY_INVALID with the option's key in the text"},
    {60, "build-id-present", Family::kStatic, build_id_present,
     "has a GNU build id",
     "plans, measurements and quarantines know a plugin's build by it",
     "link with -Wl,--build-id=sha1"},
    {61, "memory-protection", Family::kStatic, memory_protection,
     "asks for no executable stack and for no writable code",
     "loading such a library takes protection from the whole process, or is refused",
     "compile with -fPIC; give assembly files .section .note.GNU-stack"},
    {62, "process-state", Family::kLoad, process_state,
     "leaves the process's signal handlers, locale, folder and rounding mode as they are",
     "a library linked with -ffast-math makes denormals zero for everybody",
     "link without -ffast-math and -Ofast; restore what a vendor's library changes"},
    {63, "quiet", Family::kLoad, quiet,
     "prints nothing",
     "a program's output is data for the next program",
     "log through the host's table; switch the vendor library's messages off"},
    // clang-format on
};

}  // namespace

std::string_view name_of(Family family) {
  constexpr std::string_view kNames[] = {"static",    "load",   "errors", "capability", "numbers",
                                         "artefacts", "memory", "async",  "reports"};
  return kNames[static_cast<int>(family)];
}

std::span<const Check> all_checks() { return kChecks; }

const Check* find_check(std::string_view id_or_name) {
  int id = 0;
  const char* end = id_or_name.data() + id_or_name.size();
  const auto parsed = std::from_chars(id_or_name.data(), end, id);
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == end;
  const auto found = std::find_if(std::begin(kChecks), std::end(kChecks), [&](const Check& check) {
    return is_number ? check.id == id : check.name == id_or_name;
  });
  return found == std::end(kChecks) ? nullptr : &*found;
}

}  // namespace inlay::check
