// The C API over session.h: checks what C callers can get wrong and lets no exception out.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "core/session/inlay.h"
#include "core/session/session.h"

struct inlay_runtime {
  inlay::Runtime runtime;
};
struct inlay_session {
  inlay::Session session;
};

namespace {

using inlay::Code;
using inlay::Error;

inlay_code code_of(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return INLAY_CODE_INVALID_ARGUMENT;
    case Code::kNotFound:
      return INLAY_CODE_NOT_FOUND;
    case Code::kIo:
      return INLAY_CODE_IO;
    case Code::kCorrupt:
      return INLAY_CODE_CORRUPT;
    case Code::kShapeMismatch:
      return INLAY_CODE_SHAPE_MISMATCH;
    case Code::kUnsupported:
      return INLAY_CODE_UNSUPPORTED;
    case Code::kPluginFailed:
      return INLAY_CODE_PLUGIN_FAILED;
    case Code::kNoMemory:
      return INLAY_CODE_NO_MEMORY;
    case Code::kStale:
      return INLAY_CODE_STALE;
    case Code::kBusy:
      return INLAY_CODE_BUSY;
    case Code::kCancelled:
      return INLAY_CODE_CANCELLED;
    case Code::kInternal:
      break;
  }
  return INLAY_CODE_INTERNAL;
}

// Writes as much as the caller's struct has room for. Allocates nothing.
inlay_code fail(inlay_failure* failure, inlay_code code, const char* text) {
  constexpr std::size_t kHead = offsetof(inlay_failure, text);
  if (failure == nullptr || failure->struct_size < kHead) return code;
  failure->code = code;
  const std::size_t room =
      std::min<std::size_t>(failure->struct_size - kHead, INLAY_FAILURE_TEXT_BYTES);
  if (room == 0) return code;
  const std::size_t length = std::min(std::strlen(text), room - 1);
  std::memcpy(failure->text, text, length);
  failure->text[length] = '\0';
  return code;
}

template <typename Function>
inlay_code guarded(inlay_failure* failure, const Function& function) {
  try {
    function();
    return INLAY_CODE_OK;
  } catch (const Error& error) {
    return fail(failure, code_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return fail(failure, INLAY_CODE_NO_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return fail(failure, INLAY_CODE_INTERNAL, error.what());
  } catch (...) {
    return fail(failure, INLAY_CODE_INTERNAL, "unknown exception");
  }
}

void require(const void* pointer, const char* what) {
  if (pointer == nullptr) throw Error(Code::kInvalidArgument, fmt::format("{} is null", what));
}

// `first_bytes`: the struct's size in version 0, which every caller knows.
template <typename Struct>
void require_size(const Struct* object, std::size_t first_bytes, const char* what) {
  if (object->struct_size < first_bytes) {
    throw Error(Code::kInvalidArgument,
                fmt::format("{}.struct_size: expected at least {}, found {}", what, first_bytes,
                            object->struct_size));
  }
}

// Fields that later versions add are read only where struct_size covers them; so far there are
// none.
constexpr std::size_t kRuntimeOptionsBytes = sizeof(inlay_runtime_options);
constexpr std::size_t kSessionOptionsBytes = sizeof(inlay_session_options);
constexpr std::size_t kTensorInfoBytes = sizeof(inlay_tensor_info);
constexpr std::size_t kMemoryBytes = sizeof(inlay_memory);

std::vector<std::filesystem::path> split_path(std::string_view text) {
  std::vector<std::filesystem::path> entries;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(':'), text.size());
    if (end > 0) entries.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return entries;
}

void write_info(const std::vector<inlay::TensorInfo>& infos, std::int32_t index,
                inlay_tensor_info* out) {
  if (index < 0 || static_cast<std::size_t>(index) >= infos.size()) {
    throw Error(Code::kInvalidArgument,
                fmt::format("index: expected one below {}, found {}", infos.size(), index));
  }
  const inlay::TensorInfo& info = infos[static_cast<std::size_t>(index)];
  out->type = static_cast<inlay_type>(info.type.dtype);
  out->name = info.name.c_str();
  out->rank = static_cast<std::int32_t>(info.type.shape.size());
  out->dims = info.type.shape.empty() ? nullptr : info.type.shape.data();
  out->size_bytes = dense_bytes(info.type);
}

template <typename Memory>
std::vector<Memory> read_memories(std::int32_t count, const inlay_memory* const* given,
                                  const char* what) {
  if (count < 0) {
    throw Error(Code::kInvalidArgument,
                fmt::format("{}: expected a count of 0 or more, found {}", what, count));
  }
  if (count > 0) require(given, what);
  std::vector<Memory> memories;
  memories.reserve(static_cast<std::size_t>(count));
  for (std::int32_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("{}[{}]", what, i);
    require(given[i], name.c_str());
    const inlay_memory& memory = *given[i];
    require_size(&memory, kMemoryBytes, name.c_str());
    require(memory.name, fmt::format("{}.name", name).c_str());
    std::optional<std::span<const std::int64_t>> shape;
    if (memory.rank > 0) require(memory.dims, fmt::format("{}.dims", name).c_str());
    if (memory.rank >= 0) shape = {memory.dims, static_cast<std::size_t>(memory.rank)};
    memories.emplace_back(memory.name, static_cast<inlay::DType>(memory.type), memory.data,
                          memory.size_bytes, shape);
  }
  return memories;
}

inlay_code info_of(const inlay_session* session,
                   const std::vector<inlay::TensorInfo>& (inlay::Session::*infos)() const,
                   std::int32_t index, inlay_tensor_info* out, inlay_failure* failure) {
  return guarded(failure, [&] {
    require(session, "session");
    require(out, "out");
    require_size(out, kTensorInfoBytes, "out");
    write_info((session->session.*infos)(), index, out);
  });
}

}  // namespace

const char* inlay_version(void) { return INLAY_VERSION; }

inlay_code inlay_runtime_create(const inlay_runtime_options* options, inlay_runtime** out,
                                inlay_failure* failure) {
  return guarded(failure, [&] {
    require(out, "out");
    inlay::RuntimeOptions given;
    if (options != nullptr) {
      require_size(options, kRuntimeOptionsBytes, "options");
      given.threads = options->threads;
      if (options->plugins != nullptr) given.plugins = split_path(options->plugins);
    }
    *out = new inlay_runtime{inlay::Runtime(std::move(given))};
  });
}

void inlay_runtime_destroy(inlay_runtime* runtime) { delete runtime; }

inlay_code inlay_session_open(inlay_runtime* runtime, const char* plan,
                              const inlay_session_options* options, inlay_session** out,
                              inlay_failure* failure) {
  return guarded(failure, [&] {
    require(runtime, "runtime");
    require(plan, "plan");
    require(out, "out");
    inlay::SessionOptions given;
    if (options != nullptr) {
      require_size(options, kSessionOptionsBytes, "options");
      given.concurrent_runs = options->concurrent_runs;
    }
    *out = new inlay_session{inlay::Session(runtime->runtime, plan, given)};
  });
}

void inlay_session_close(inlay_session* session) { delete session; }

int32_t inlay_session_input_count(const inlay_session* session) {
  return session == nullptr ? 0 : static_cast<std::int32_t>(session->session.inputs().size());
}

int32_t inlay_session_output_count(const inlay_session* session) {
  return session == nullptr ? 0 : static_cast<std::int32_t>(session->session.outputs().size());
}

inlay_code inlay_session_input_info(const inlay_session* session, int32_t index,
                                    inlay_tensor_info* out, inlay_failure* failure) {
  return info_of(session, &inlay::Session::inputs, index, out, failure);
}

inlay_code inlay_session_output_info(const inlay_session* session, int32_t index,
                                     inlay_tensor_info* out, inlay_failure* failure) {
  return info_of(session, &inlay::Session::outputs, index, out, failure);
}

inlay_code inlay_session_run(inlay_session* session, int32_t input_count,
                             const inlay_memory* const* inputs, int32_t output_count,
                             const inlay_memory* const* outputs, inlay_failure* failure) {
  return guarded(failure, [&] {
    require(session, "session");
    session->session.run(read_memories<inlay::InputMemory>(input_count, inputs, "inputs"),
                         read_memories<inlay::OutputMemory>(output_count, outputs, "outputs"));
  });
}
