#include <fmt/format.h>

#include <cstring>
#include <functional>

#include "search/check/agreement.h"
#include "search/check/doing.h"
#include "search/check/failing_memory.h"
#include "search/check/families.h"
#include "search/check/program_run.h"
#include "search/check/verdict.h"

namespace inlay::check {
namespace {

// A region that no plugin takes: an operator of a domain that nobody has.
Region unknown_region() {
  Region region;
  region.pattern = "no_such_pattern";
  const TensorType type{DType::kF32, {2, 3}};
  const Layout dense = Layout::dense(2);
  region.values.push_back({"x", "", type, dense, false, std::nullopt});
  region.values.push_back({"y", "", type, dense, false, std::nullopt});
  region.nodes.push_back({"n", "nowhere.example", "Frobnicate", {0}, {1}, {}});
  region.inputs = {0};
  region.outputs = {1};
  return region;
}

// Calls that must fail, each with what it may set if it does not.
struct FailingCall {
  const char* name;
  std::function<inlay_status(inlay_error*, void** out)> call;
};

std::vector<FailingCall> failing_calls(const OpenDevice& device,
                                       const inlay_compile_request* request) {
  const inlay_plugin& table = device.table();
  static const inlay_option kOption{sizeof(inlay_option), "no.such.option", "1"};
  static const inlay_option* const kOptions[] = {&kOption};
  return {
      {"create_device(9999)",
       [&table](inlay_error* error, void** out) {
         return table.create_device(9999, 0, nullptr, error, reinterpret_cast<inlay_device**>(out));
       }},
      {"create_device with an unknown option",
       [&table](inlay_error* error, void** out) {
         return table.create_device(0, 1, kOptions, error, reinterpret_cast<inlay_device**>(out));
       }},
      {"compile of an unknown operator",
       [&table, &device, request](inlay_error* error, void** out) {
         return table.compile(device.get(), request, error, reinterpret_cast<inlay_program**>(out));
       }},
      {"create_instance without a program",
       [&table](inlay_error* error, void** out) {
         return table.create_instance(nullptr, nullptr, error,
                                      reinterpret_cast<inlay_instance**>(out));
       }},
  };
}

// A request for the unknown region, as long as this lives.
struct UnknownRequest {
  RegionView view{unknown_region()};
  inlay_compile_request request{};
  UnknownRequest() {
    request.struct_size = sizeof(request);
    request.region = view.get();
    request.thread_cap = 1;
  }
};

bool is_utf8(const std::string& text) {
  int more = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (more > 0) {
      if ((byte & 0xC0) != 0x80) return false;
      --more;
    } else if (byte >= 0x80) {
      if ((byte & 0xE0) == 0xC0)
        more = 1;
      else if ((byte & 0xF0) == 0xE0)
        more = 2;
      else if ((byte & 0xF8) == 0xF0)
        more = 3;
      else
        return false;
    }
  }
  return more == 0;
}

// Runs body with one allocation failing, the first, then the second, and so on until none is left
// to fail; each time it must succeed or say that memory is short.
void require_survives(const char* what, const std::function<Answer()>& body) {
  constexpr int kMost = 300;
  for (int n = 0; n < kMost; ++n) {
    doing("{} while allocation {} fails", what, n + 1);
    Answer answer;
    bool has_failed = false;
    {
      FailingMemory failing(n);
      answer = body();
      has_failed = failing.has_failed();
    }
    if (!has_failed) return;
    // Without memory for its text too, an answer may have none.
    require(answer.is_ok() || answer.status == INLAY_NO_MEMORY || answer.status == INLAY_DECLINED,
            "{} while allocation {} failed: expected INLAY_NO_MEMORY, found {}", what, n + 1,
            describe(answer));
  }
}

// Whatever leaves the plugin by other ways than returning is an exception.
template <typename Body>
void require_returns(const std::string& what, const Body& body) {
  doing("{}", what);
  inlay_status status = INLAY_OK;
  try {
    status = body();
  } catch (const std::exception& exception) {
    fail("{}: an exception left the plugin: {}", what, exception.what());
  } catch (...) {
    fail("{}: an exception left the plugin", what);
  }
  require(is_known_status(status), "{}: found {}", what, name_of_status(status));
}

// A region as a plan that somebody edited may have it.
std::vector<std::pair<std::string, Region>> hostile_regions(const Region& region) {
  std::vector<std::pair<std::string, Region>> list;
  const auto add = [&](const char* what, const std::function<void(Region&)>& change) {
    list.emplace_back(what, region);
    change(list.back().second);
  };
  add("a region without nodes", [](Region& r) { r.nodes.clear(); });
  add("a region whose attributes are gone", [](Region& r) { r.nodes.back().attributes.clear(); });
  add("a region whose operands are left out", [](Region& r) {
    for (int& input : r.nodes.front().inputs) input = -1;
  });
  add("a region without operands", [](Region& r) { r.nodes.front().inputs.clear(); });
  add("a region of an unknown operator", [](Region& r) { r.nodes.back().op = "Frobnicate"; });
  add("a region whose values have no ports", [](Region& r) {
    for (RegionValue& value : r.values) value.port.clear();
  });
  add("a region of scalars", [](Region& r) {
    for (RegionValue& value : r.values) {
      if (value.is_constant) continue;
      value.type.shape.clear();
      value.layout = Layout::dense(0);
    }
  });
  add("a region of bools", [](Region& r) {
    for (RegionValue& value : r.values) {
      if (!value.is_constant) value.type.dtype = DType::kBool;
    }
  });
  add("a region without inputs and outputs", [](Region& r) {
    r.inputs.clear();
    r.outputs.clear();
  });
  return list;
}

}  // namespace

void outputs_untouched(Subject& subject) {
  const UnknownRequest unknown;
  for (const FailingCall& failing : failing_calls(subject.device(), &unknown.request)) {
    void* const mark = &subject;
    void* out = mark;
    ErrorText error;
    const Answer answer = error.answer(failing.call(error.get(), &out));
    require(!answer.is_ok(), "{}: expected an error, found INLAY_OK", failing.name);
    require(out == mark, "{}: expected the output untouched with {}, found it changed",
            failing.name, describe(answer));
  }
  const Sample& sample = subject.sample();
  const Compiled compiled = compile(subject.device(), sample.region);
  Run run(subject.device(), compiled, sample.region);
  run.set_inputs(inputs_for(sample.region, 1));
  run.fill_outputs();
  const std::vector<std::string> before = run.raw_outputs();
  const Answer answer = run.enqueue_inputs(static_cast<int>(sample.region.inputs.size()) + 1);
  require(!answer.is_ok(), "{}: enqueue with an input too many: expected an error, found INLAY_OK",
          describe(sample));
  require(run.raw_outputs() == before,
          "{}: enqueue with an input too many: expected the outputs untouched with {}, found them "
          "written",
          describe(sample), describe(answer));
}

void null_destroy(Subject& subject) {
  const inlay_plugin& table = subject.plugin().table();
  table.destroy_instance(nullptr);
  table.destroy_program(nullptr);
  if (table.memory != nullptr && table.memory->free != nullptr) {
    table.memory->free(subject.device().get(), nullptr);
  }
  if (table.streams != nullptr) {
    if (table.streams->destroy_event != nullptr) {
      table.streams->destroy_event(subject.device().get(), nullptr);
    }
    if (table.streams->destroy_stream != nullptr) {
      table.streams->destroy_stream(subject.device().get(), nullptr);
    }
  }
  if (table.release_packed != nullptr) table.release_packed(subject.device().get(), nullptr);
  table.destroy_device(nullptr);
  subject.sample();  // and nothing was harmed
}

void error_text(Subject& subject) {
  const UnknownRequest unknown;
  for (const FailingCall& failing : failing_calls(subject.device(), &unknown.request)) {
    void* out = nullptr;
    ErrorText error;
    std::memset(error.get()->text, 'x', sizeof(error.get()->text));  // it must end by itself
    const Answer answer = error.answer(failing.call(error.get(), &out));
    require(!answer.is_ok(), "{}: expected an error, found INLAY_OK", failing.name);
    require(!answer.text.empty(), "{}: expected a text with {}, found none", failing.name,
            name_of_status(answer.status));
    require(is_utf8(answer.text), "{}: expected UTF-8, found '{}'", failing.name, answer.text);
    require(error.get()->code == answer.status,
            "{}: expected the error's code to be {} as returned, found {}", failing.name,
            name_of_status(answer.status), name_of_status(error.get()->code));
    const inlay_status again = failing.call(nullptr, &out);
    require(again == answer.status, "{} without an error struct: expected {} as with one, found {}",
            failing.name, name_of_status(answer.status), name_of_status(again));
  }
}

void allocation_failure(Subject& subject) {
  if (!FailingMemory::is_available()) {
    skip("a sanitizer has the allocator; the ordinary build of the kit makes allocations fail");
  }
  const OpenDevice& device = subject.device();
  const Sample& sample = subject.sample();
  const Compiled compiled = compile(device, sample.region);
  Run run(device, compiled, sample.region);
  run.set_inputs(inputs_for(sample.region, 1));
  const inlay_plugin& table = device.table();
  const RegionView view(sample.region);
  inlay_compile_request request{};
  request.struct_size = sizeof(request);
  request.region = view.get();
  request.thread_cap = 1;
  inlay_error error{};
  const auto answer_of = [&error](inlay_status status) {
    return Answer{status,
                  status == INLAY_OK ? "" : std::string(error.text, strnlen(error.text, 80))};
  };
  // Statuses are taken inside, texts outside: the kit allocates too.
  inlay_status status = INLAY_OK;
  const auto asked = [&](const char* what, const std::function<void()>& call) {
    require_survives(what, [&] {
      error = {};
      error.struct_size = sizeof(error);
      FailingMemory::arm();
      call();
      FailingMemory::disarm();
      return answer_of(status);
    });
  };
  inlay_device* made_device = nullptr;
  asked("create_device", [&] {
    status = table.create_device(0, 0, nullptr, &error, &made_device);
    if (status == INLAY_OK) table.destroy_device(made_device);
  });
  inlay_program* program = nullptr;
  asked("compile", [&] {
    status = table.compile(device.get(), &request, &error, &program);
    if (status == INLAY_OK) table.destroy_program(program);
  });
  const Pages workspace(compiled.info.workspace_bytes, false, 64);
  inlay_instance* instance = nullptr;
  asked("create_instance", [&] {
    status = table.create_instance(compiled.program.get(),
                                   compiled.info.workspace_bytes > 0 ? workspace.data() : nullptr,
                                   &error, &instance);
    if (status == INLAY_OK) table.destroy_instance(instance);
  });
  require_agrees(subject, device, sample);  // as if nothing had been
}

void no_exceptions(Subject& subject) {
  const OpenDevice& device = subject.device();
  const inlay_plugin& table = device.table();
  for (const auto& [what, region] : hostile_regions(subject.sample().region)) {
    const RegionView view(region);
    inlay_compile_request request{};
    request.struct_size = sizeof(request);
    request.region = view.get();
    request.thread_cap = 1;
    ErrorText error;
    inlay_program* program = nullptr;
    require_returns("compile of " + what,
                    [&] { return table.compile(device.get(), &request, error.get(), &program); });
    if (program != nullptr) table.destroy_program(program);
    if (table.veto != nullptr) {
      require_returns("veto of " + what,
                      [&] { return table.veto(device.get(), view.get(), error.get()); });
    }
  }
  const Compiled compiled = compile(device, subject.sample().region);
  Run run(device, compiled, subject.sample().region);
  run.set_inputs(inputs_for(subject.sample().region, 1));
  for (const int count : {-1, 0, 1000}) {
    if (count == static_cast<int>(subject.sample().region.inputs.size())) continue;
    require_returns(fmt::format("enqueue with {} inputs", count),
                    [&] { return run.enqueue_inputs(count).status; });
  }
}

void unknown_option(Subject& subject) {
  constexpr const char* kKey = "no.such.option";
  const inlay_option option{sizeof(inlay_option), kKey, "1"};
  const inlay_option* const options[] = {&option};
  ErrorText error;
  inlay_device* device = nullptr;
  const Answer created =
      error.answer(subject.plugin().table().create_device(0, 1, options, error.get(), &device));
  const auto require_named = [&](const Answer& answer, const char* call) {
    require(answer.status == INLAY_INVALID,
            "{} with the option '{}': expected INLAY_INVALID, found {}", call, kKey,
            describe(answer));
    require(answer.text.find(kKey) != std::string::npos,
            "{} with the option '{}': expected a text that names it, found '{}'", call, kKey,
            answer.text);
  };
  require_named(created, "create_device");
  const Compiled compiled =
      compile(subject.device(), subject.sample().region, {.option_key = kKey});
  require_named(compiled.answer, "compile");
}

}  // namespace inlay::check
