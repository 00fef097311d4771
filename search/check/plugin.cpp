#include "search/check/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "core/abi/inlay_trace.h"
#include "search/check/verdict.h"

namespace inlay::check {
namespace {

thread_local int current_cap = 1;

TestHost& host_of(void* context) {
  TestHost& host = *static_cast<TestHost*>(context);
  host.note_call();
  return host;
}

void log_event(void* context, std::int32_t, const char*) { host_of(context); }

// Gives the pool's threads the cap of the thread that asked.
struct CappedBody {
  int cap;
  void (*body)(void*, std::int64_t);
  void* argument;
};

void run_capped(void* argument, std::int64_t index) {
  const auto& capped = *static_cast<const CappedBody*>(argument);
  const int previous = std::exchange(current_cap, capped.cap);
  capped.body(capped.argument, index);
  current_cap = previous;
}

void parallel_for(void* context, std::int64_t count, void (*body)(void*, std::int64_t),
                  void* argument) {
  TestHost& host = host_of(context);
  if (count > 1 && current_cap > 1) {
    CappedBody capped{current_cap, body, argument};
    host.pool().parallel_for()(count, run_capped, &capped);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) body(argument, i);
}

std::int32_t thread_cap(void* context) {
  host_of(context);
  return current_cap;
}

std::int64_t now_ns(void*) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

void take_span(void* context, const char* name, std::int32_t clock, std::int64_t begin_ns,
               std::int64_t end_ns) {
  static_cast<TestHost*>(context)->add_span({name == nullptr ? "" : name, clock, begin_ns, end_ns});
}

const void* get_extension(void* context, const char* id) {
  TestHost& host = host_of(context);
  if (id == nullptr || std::strcmp(id, INLAY_TRACE_ID) != 0) return nullptr;
  host.note_trace();
  // One host to a process: a check's.
  static inlay_trace trace{sizeof(inlay_trace), nullptr, take_span};
  trace.context = context;
  return &trace;
}

}  // namespace

bool is_known_status(inlay_status status) { return status >= INLAY_OK && status <= INLAY_INTERNAL; }

std::string name_of_status(inlay_status status) {
  constexpr const char* kNames[] = {
      "INLAY_OK",        "INLAY_DECLINED",       "INLAY_INVALID",
      "INLAY_NO_MEMORY", "INLAY_STALE_ARTIFACT", "INLAY_DEVICE_LOST",
      "INLAY_CANCELLED", "INLAY_INTERNAL",
  };
  if (!is_known_status(status))
    return fmt::format("status {}, which the ABI does not have", status);
  return kNames[status];
}

std::string describe(const Answer& answer) {
  if (answer.text.empty()) return name_of_status(answer.status);
  return fmt::format("{} '{}'", name_of_status(answer.status), answer.text);
}

ErrorText::ErrorText() { error_.struct_size = sizeof(error_); }

Answer ErrorText::answer(inlay_status status) const {
  const std::size_t size = strnlen(error_.text, sizeof(error_.text));
  require(size < sizeof(error_.text), "the error text does not end within its {} bytes",
          sizeof(error_.text));
  return {status, status == INLAY_OK ? std::string() : std::string(error_.text, size)};
}

TestHost::TestHost(int threads) : pool_(threads) {
  table_ = {sizeof(inlay_host), INLAY_ABI_MAJOR, INLAY_ABI_MINOR, this,         log_event,
            parallel_for,       thread_cap,      now_ns,          get_extension};
}

void TestHost::with_cap(int cap, const std::function<void()>& body) {
  struct Job {
    int cap;
    const std::function<void()>* body;
  } job{cap, &body};
  pool_.execute(
      cap,
      [](void* argument) {
        const Job& given = *static_cast<const Job*>(argument);
        const int previous = std::exchange(current_cap, given.cap);
        (*given.body)();
        current_cap = previous;
      },
      &job);
}

std::vector<TestHost::Span> TestHost::spans() const {
  const std::lock_guard lock(mutex_);
  return spans_;
}

void TestHost::add_span(Span span) {
  const std::lock_guard lock(mutex_);
  spans_.push_back(std::move(span));
}

inlay_plugin complete_table(const inlay_plugin* given) {
  inlay_plugin table{};
  std::memcpy(&table, given, std::min<std::size_t>(given->struct_size, sizeof(table)));
  return table;
}

Plugin::Plugin(const std::filesystem::path& path) : path_(path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) fail("the library does not load: {}", ::dlerror());
  query_ = reinterpret_cast<inlay_plugin_query_fn>(::dlsym(library, "inlay_plugin_query"));
  require(query_ != nullptr, "expected an export inlay_plugin_query, found none");
  given_ = query_(INLAY_ABI_MAJOR, INLAY_ABI_MINOR);
  require(given_ != nullptr, "inlay_plugin_query({}, {}): expected a table, found null",
          INLAY_ABI_MAJOR, INLAY_ABI_MINOR);
  require(INLAY_HAS(given_, abi_minor) && given_->abi_major == INLAY_ABI_MAJOR,
          "expected a table of ABI major {}, found struct_size {} and major {}", INLAY_ABI_MAJOR,
          given_->struct_size, given_->abi_major);
  table_ = complete_table(given_);
  const auto require_entry = [](bool is_there, const char* name) {
    require(is_there, "the table's entry {} is required, and null", name);
  };
  require_entry(table_.init != nullptr, "init");
  require_entry(table_.device_info != nullptr, "device_info");
  require_entry(table_.create_device != nullptr, "create_device");
  require_entry(table_.destroy_device != nullptr, "destroy_device");
  require_entry(table_.compile != nullptr, "compile");
  require_entry(table_.destroy_program != nullptr, "destroy_program");
  require_entry(table_.program_info != nullptr, "program_info");
  require_entry(table_.create_instance != nullptr, "create_instance");
  require_entry(table_.destroy_instance != nullptr, "destroy_instance");
  require_entry(table_.enqueue != nullptr, "enqueue");
}

Plugin::~Plugin() {
  while (init_count_ > 0) deinit();
}

Answer Plugin::try_init(const inlay_host* host) {
  ErrorText error;
  const Answer answer = error.answer(table_.init(host, error.get()));
  if (answer.is_ok()) ++init_count_;
  return answer;
}

void Plugin::init(const inlay_host* host) {
  const Answer answer = try_init(host);
  require(answer.is_ok(), "init: expected INLAY_OK, found {}", describe(answer));
}

void Plugin::deinit() {
  if (init_count_ > 0) --init_count_;
  if (table_.deinit != nullptr) table_.deinit();
}

int Plugin::device_count() const {
  constexpr int kMost = 64;
  for (int i = 0; i < kMost; ++i) {
    ErrorText error;
    inlay_device_info info{};
    info.struct_size = sizeof(info);
    if (table_.device_info(i, &info, error.get()) != INLAY_OK) return i;
  }
  fail("device_info: expected INLAY_DECLINED past the last device, found OK for {} of them", kMost);
}

inlay_device_info Plugin::info(int device) const {
  ErrorText error;
  inlay_device_info info{};
  info.struct_size = sizeof(info);
  const Answer answer = error.answer(table_.device_info(device, &info, error.get()));
  require(answer.is_ok(), "device_info({}): expected INLAY_OK, found {}", device, describe(answer));
  return info;
}

OpenDevice Plugin::open(int device) const {
  ErrorText error;
  inlay_device* made = nullptr;
  const Answer answer = error.answer(table_.create_device(device, 0, nullptr, error.get(), &made));
  require(answer.is_ok() && made != nullptr,
          "create_device({}): expected INLAY_OK and a device, found {}", device,
          answer.is_ok() ? "INLAY_OK and no device" : describe(answer));
  return {this, info(device), {made, [this](inlay_device* d) { table_.destroy_device(d); }}};
}

}  // namespace inlay::check
