#include <fmt/format.h>
#include <immintrin.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <clocale>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include "search/check/agreement.h"
#include "search/check/families.h"
#include "search/check/program_run.h"
#include "search/check/verdict.h"

namespace inlay::check {
namespace {

// Opens the first device, compiles, runs and compares one sample: the plugin works.
void require_works(Subject& subject, const Plugin& plugin) {
  const OpenDevice device = plugin.open(0);
  std::string reason;
  for (const Sample& sample : subject.samples().list) {
    const Compiled compiled = compile(device, sample.region);
    if (compiled.program == nullptr) {
      reason = describe(compiled.answer);
      continue;
    }
    require_agrees(subject, device, sample);
    return;
  }
  fail("no sample compiles; the last: {}", reason);
}

// A host table of an older minor: whatever lies past `size_bytes` is not there.
void require_serves_older(Subject& subject, std::size_t size_bytes, const char* lacks) {
  // On its own, so that reading past the end is reading what nobody wrote.
  std::vector<std::byte> bytes(sizeof(inlay_host), std::byte{0xA5});
  inlay_host* host = reinterpret_cast<inlay_host*>(bytes.data());
  std::memcpy(bytes.data(), subject.host().table(), size_bytes);
  host->struct_size = static_cast<std::uint32_t>(size_bytes);
  Plugin& plugin = subject.loaded();
  const Answer answer = plugin.try_init(host);
  require(answer.is_ok(),
          "init with a host table of {} bytes, without {}: expected INLAY_OK, found {}", size_bytes,
          lacks, describe(answer));
  require_works(subject, plugin);
  plugin.deinit();
}

// Bytes past a struct of the newest size, to be left alone.
template <typename T>
class Guarded {
 public:
  explicit Guarded(std::uint32_t struct_size) {
    bytes_.fill(std::byte{kFiller});
    std::memset(bytes_.data(), 0, sizeof(T));
    get()->struct_size = struct_size;
    size_ = struct_size;
    // What the caller does not know of may not be touched.
    for (std::size_t i = struct_size; i < bytes_.size(); ++i) bytes_[i] = std::byte{kFiller};
  }
  T* get() { return reinterpret_cast<T*>(bytes_.data()); }
  void require_untouched(const char* what) const {
    const std::size_t first = std::min<std::size_t>(size_, sizeof(T));
    for (std::size_t i = first; i < bytes_.size(); ++i) {
      require(bytes_[i] == std::byte{kFiller},
              "{} with struct_size {}: byte {} past what the struct's size and this ABI cover was "
              "written",
              what, size_, i);
    }
    require(reinterpret_cast<const T*>(bytes_.data())->struct_size == size_,
            "{}: struct_size was changed from {}", what, size_);
  }

 private:
  alignas(16) std::array<std::byte, sizeof(T) + 64> bytes_;
  std::uint32_t size_;
};

void require_info_respects(const Plugin& plugin, std::uint32_t struct_size) {
  Guarded<inlay_device_info> info(struct_size);
  ErrorText error;
  const Answer answer = error.answer(plugin.table().device_info(0, info.get(), error.get()));
  require(answer.is_ok(), "device_info with struct_size {}: expected INLAY_OK, found {}",
          struct_size, describe(answer));
  info.require_untouched("device_info");
}

// Which signals are handled, and by what.
std::vector<void*> signal_handlers() {
  std::vector<void*> handlers;
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) != 0) continue;
    handlers.push_back(reinterpret_cast<void*>(action.sa_handler));
  }
  return handlers;
}

struct ProcessState {
  std::vector<void*> handlers = signal_handlers();
  std::string locale = std::setlocale(LC_ALL, nullptr);
  std::string folder = std::filesystem::current_path().string();
  // Rounding, and whether denormals count as zero; the low six bits are flags of past operations.
  unsigned float_state = _mm_getcsr() & ~0x3fU;
};

void require_same(const ProcessState& before, const char* when) {
  const ProcessState now;
  require(before.float_state == now.float_state,
          "{}: the thread's floating-point state (MXCSR) went from {:#x} to {:#x}", when,
          before.float_state, now.float_state);
  require(before.handlers == now.handlers, "{}: a signal handler was installed", when);
  require(before.locale == now.locale, "{}: the locale went from '{}' to '{}'", when, before.locale,
          now.locale);
  require(before.folder == now.folder, "{}: the working directory went from {} to {}", when,
          before.folder, now.folder);
}

// What is written to a descriptor meanwhile.
class Captured {
 public:
  explicit Captured(int descriptor) : descriptor_(descriptor), kept_(::dup(descriptor)) {
    file_ = std::tmpfile();
    if (file_ == nullptr) skip_undeclared("no temporary file can be made");
    ::dup2(::fileno(file_), descriptor);
  }
  ~Captured() {
    ::dup2(kept_, descriptor_);
    ::close(kept_);
    std::fclose(file_);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  std::string text() const {
    std::fflush(nullptr);
    std::string text(200, '\0');
    const ssize_t size = ::pread(::fileno(file_), text.data(), text.size(), 0);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return text;
  }

 private:
  int descriptor_;
  int kept_;
  std::FILE* file_;
};

}  // namespace

void query_pure(Subject& subject) {
  Plugin& plugin = subject.loaded();
  const inlay_plugin* first = plugin.given();
  const std::string bytes(reinterpret_cast<const char*>(first),
                          std::min<std::size_t>(first->struct_size, sizeof(inlay_plugin)));
  const auto require_unchanged = [&](const inlay_plugin* found, const char* when) {
    require(found == first,
            "inlay_plugin_query {}: expected the table it gave before, found another", when);
    require(std::memcmp(found, bytes.data(), bytes.size()) == 0,
            "inlay_plugin_query {}: expected the table as it was, found it changed", when);
  };
  for (const std::uint32_t minor : {INLAY_ABI_MINOR, INLAY_ABI_MINOR + 1, 1000u}) {
    require_unchanged(plugin.query()(INLAY_ABI_MAJOR, minor), "once more, and for other minors");
  }
  constexpr int kThreads = 4;
  std::vector<const inlay_plugin*> found(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 100; ++n)
        found[static_cast<std::size_t>(i)] = plugin.query()(INLAY_ABI_MAJOR, 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const inlay_plugin* table : found) require_unchanged(table, "from several threads");
  subject.plugin();
  require_unchanged(plugin.query()(INLAY_ABI_MAJOR, INLAY_ABI_MINOR), "after init");
}

void query_refuses_major(Subject& subject) {
  Plugin& plugin = subject.loaded();
  for (const std::uint32_t major : {INLAY_ABI_MAJOR - 1, INLAY_ABI_MAJOR + 1, ~std::uint32_t{0}}) {
    require(plugin.query()(major, 0) == nullptr,
            "inlay_plugin_query({}, 0): expected null for a major that is not {}, found a table",
            major, INLAY_ABI_MAJOR);
  }
}

void older_host(Subject& subject) {
  require_serves_older(subject, offsetof(inlay_host, context), "any function");
  require_serves_older(subject, offsetof(inlay_host, parallel_for),
                       "parallel_for and what follows");
  require_serves_older(subject, offsetof(inlay_host, now_ns), "now_ns and what follows");
  require_serves_older(subject, offsetof(inlay_host, get_extension), "get_extension");
}

void newer_host(Subject& subject) {
  std::vector<std::byte> bytes(sizeof(inlay_host) + 256, std::byte{0xA5});
  std::memcpy(bytes.data(), subject.host().table(), sizeof(inlay_host));
  inlay_host* host = reinterpret_cast<inlay_host*>(bytes.data());
  host->struct_size = static_cast<std::uint32_t>(bytes.size());
  host->abi_minor = 99;
  Plugin& plugin = subject.loaded();
  const Answer answer = plugin.try_init(host);
  require(answer.is_ok(),
          "init with a host of minor 99 and a table of {} bytes: expected INLAY_OK, found {}",
          bytes.size(), describe(answer));
  require_works(subject, plugin);
}

void oversized_structs(Subject& subject) {
  const Plugin& plugin = subject.plugin();
  require_info_respects(plugin, sizeof(inlay_device_info) + 32);
  require_info_respects(plugin, sizeof(inlay_device_info));
  require_info_respects(plugin, offsetof(inlay_device_info, fingerprint));
  require_info_respects(plugin, offsetof(inlay_device_info, memory_bytes));
  const Sample& sample = subject.sample();
  const Compiled compiled = compile(subject.device(), sample.region);
  for (const std::uint32_t size :
       {static_cast<std::uint32_t>(sizeof(inlay_program_info) + 32),
        static_cast<std::uint32_t>(sizeof(inlay_program_info)),
        static_cast<std::uint32_t>(offsetof(inlay_program_info, retains_constants))}) {
    Guarded<inlay_program_info> info(size);
    const inlay_status status = plugin.table().program_info(compiled.program.get(), info.get());
    require(status == INLAY_OK, "program_info with struct_size {}: expected INLAY_OK, found {}",
            size, name_of_status(status));
    info.require_untouched("program_info");
  }
  // A failing call and a caller whose error struct ends after the code.
  Guarded<inlay_error> error(offsetof(inlay_error, text));
  inlay_device* none = nullptr;
  const inlay_status status = plugin.table().create_device(9999, 0, nullptr, error.get(), &none);
  require(status != INLAY_OK, "create_device(9999): expected an error, found INLAY_OK");
  error.require_untouched("an error struct");
}

void init_twice(Subject& subject) {
  Plugin& plugin = subject.plugin();
  plugin.init(subject.host().table());
  require_works(subject, plugin);
  plugin.deinit();
  require_works(subject, plugin);  // one init is left
  plugin.deinit();
  plugin.init(subject.host().table());
  require_works(subject, plugin);
}

void wrong_order(Subject& subject) {
  Plugin& plugin = subject.loaded();
  const inlay_plugin& table = plugin.table();
  if (table.deinit != nullptr) table.deinit();  // without init: nothing
  ErrorText error;
  inlay_device_info info{};
  info.struct_size = sizeof(info);
  const auto require_status = [](inlay_status status, const char* call) {
    require(is_known_status(status), "{}: found {}", call, name_of_status(status));
  };
  require_status(table.device_info(0, &info, error.get()), "device_info before init");
  inlay_device* device = nullptr;
  const inlay_status early = table.create_device(0, 0, nullptr, error.get(), &device);
  require_status(early, "create_device before init");
  if (early == INLAY_OK) table.destroy_device(device);
  const auto require_refused = [&](inlay_status status, const char* call) {
    require_status(status, call);
    require(status != INLAY_OK, "{}: expected an error, found INLAY_OK", call);
  };
  require_refused(table.init(nullptr, error.get()), "init without a host table");
  const OpenDevice& opened = subject.device();
  require_refused(table.device_info(-1, &info, error.get()), "device_info(-1)");
  require_refused(table.device_info(0, nullptr, error.get()), "device_info without a struct");
  require_refused(table.create_device(-1, 0, nullptr, error.get(), &device), "create_device(-1)");
  require_refused(table.create_device(0, 0, nullptr, error.get(), nullptr),
                  "create_device without an output");
  inlay_program* program = nullptr;
  require_refused(table.compile(opened.get(), nullptr, error.get(), &program),
                  "compile without a request");
  inlay_compile_request empty{};
  empty.struct_size = sizeof(empty);
  require_refused(table.compile(opened.get(), &empty, error.get(), &program),
                  "compile without a region");
  inlay_program_info program_info{};
  program_info.struct_size = sizeof(program_info);
  require_refused(table.program_info(nullptr, &program_info), "program_info without a program");
  inlay_instance* instance = nullptr;
  require_refused(table.create_instance(nullptr, nullptr, error.get(), &instance),
                  "create_instance without a program");
  require_refused(
      table.enqueue(nullptr, nullptr, 0, nullptr, 0, nullptr, 0, nullptr, 0, nullptr, error.get()),
      "enqueue without an instance");
  require_works(subject, plugin);  // none of this did harm
}

void two_clients(Subject& subject) {
  Plugin& plugin = subject.plugin();
  TestHost second(1);
  plugin.init(second.table());
  const OpenDevice other = plugin.open(0);
  const Sample& sample = subject.sample();
  const std::vector<Tensor> inputs = inputs_for(sample.region, 1);
  const Compiled first_program = compile(subject.device(), sample.region);
  const Compiled second_program = compile(other, sample.region);
  require(second_program.program != nullptr,
          "compile on a second device: expected INLAY_OK, found {}",
          describe(second_program.answer));
  std::vector<Tensor> results[2];
  std::string failures[2];
  const auto run = [&](int i, const OpenDevice& device, const Compiled& compiled) {
    try {
      for (int n = 0; n < 20; ++n) {
        Run client(device, compiled, sample.region);
        client.set_inputs(inputs);
        const Answer answer = client.enqueue();
        require(answer.is_ok(), "enqueue: {}", describe(answer));
        results[i] = client.outputs();
      }
    } catch (const std::exception& exception) {
      failures[i] = exception.what();
    }
  };
  std::thread thread([&] { run(1, other, second_program); });
  run(0, subject.device(), first_program);
  thread.join();
  for (const std::string& failure : failures) {
    require(failure.empty(), "two clients at once: {}", failure);
  }
  require_equal(subject, sample, inputs, results[0], "the first of two clients");
  require_equal(subject, sample, inputs, results[1], "the second of two clients");
}

void clean_exit(Subject& subject) {
  require_works(subject, subject.plugin());
  // The process ends by returning from main, with the plugin initialised or not; a crash on the way
  // is the verdict.
}

void process_state(Subject& subject) {
  const ProcessState before;
  subject.plugin();
  require_same(before, "after init");
  require_works(subject, subject.plugin());
  require_same(before, "after a run");
}

void quiet(Subject& subject) {
  subject.samples();
  std::string out;
  std::string err;
  {
    const Captured standard_output(STDOUT_FILENO);
    const Captured standard_error(STDERR_FILENO);
    require_works(subject, subject.plugin());
    out = standard_output.text();
    err = standard_error.text();
  }
  require(out.empty(), "expected nothing on standard output, found '{}'", out);
  require(err.empty(), "expected nothing on standard error, found '{}'", err);
}

}  // namespace inlay::check
