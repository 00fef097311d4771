// From C++ exceptions to the ABI's statuses. The glue does this for every call; a plugin that
// writes its own table does it so:
//
//   static inlay_status compile(inlay_device*, const inlay_compile_request* request, inlay_error*
//   error, ...) noexcept {
//     return inlay::sdk::guarded(error, [&] { ...; throw Decline("no kernel for rank 7"); });
//   }
//
// Decline gives INLAY_DECLINED, InvalidCall INLAY_INVALID, bad_alloc INLAY_NO_MEMORY, anything else
// INLAY_INTERNAL.
#pragma once

#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "core/abi/inlay_plugin.h"
#include "core/sdk/region.h"

namespace inlay::sdk {

// The caller broke a rule of the ABI: becomes INLAY_INVALID with this text.
struct InvalidCall : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Puts code and text into the caller's struct as far as that reaches, never cutting a UTF-8
// character, and returns code.
inline inlay_status fail(inlay_error* error, inlay_status code, const char* text) noexcept {
  if (error == nullptr) return code;
  if (INLAY_HAS(error, code)) error->code = code;
  if (!INLAY_HAS(error, text)) return code;
  std::size_t size = std::strlen(text);
  if (size >= INLAY_ERROR_TEXT_BYTES) {
    size = INLAY_ERROR_TEXT_BYTES - 1;
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  }
  std::memcpy(error->text, text, size);
  error->text[size] = '\0';
  return code;
}

template <typename Body>
inlay_status guarded(inlay_error* error, const Body& body) noexcept {
  try {
    body();
    return INLAY_OK;
  } catch (const Decline& decline) {
    return fail(error, INLAY_DECLINED, decline.what());
  } catch (const InvalidCall& invalid) {
    return fail(error, INLAY_INVALID, invalid.what());
  } catch (const std::bad_alloc&) {
    return fail(error, INLAY_NO_MEMORY, "out of memory");
  } catch (const std::exception& exception) {
    return fail(error, INLAY_INTERNAL, exception.what());
  } catch (...) {
    return fail(error, INLAY_INTERNAL, "unknown exception");
  }
}

// For a device without options, or a program without knobs.
// throws  InvalidCall naming the first option if there is one
inline void refuse_options(std::int32_t count, const inlay_option* const* options) {
  if (count > 0) throw InvalidCall("unknown option '" + std::string(options[0]->key) + "'");
}

}  // namespace inlay::sdk
