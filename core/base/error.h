// What ends an operation: a code for programs, a message for people.
//
//   throw Error(Code::kShapeMismatch, "Conv 'c3': weight expects 64 input channels, input has 32");
//
// A message says where, what was expected and what was found. Expected outcomes (a decline, a
// search that ran out of time) are return values, not errors. Catch at edges only: main, the ABI,
// the trial run of a candidate.
#pragma once

#include <stdexcept>
#include <string>

namespace inlay {

enum class Code {
  kInvalidArgument,  // a flag, option or API argument
  kNotFound,         // a file, plugin, node or name that does not exist
  kIo,               // the system refused: permission, space, interrupted
  kCorrupt,          // a file that is not what it claims to be
  kShapeMismatch,    // shapes, dtypes or ranks that do not fit
  kUnsupported,      // well-formed, but outside what Inlay or a plugin does
  kPluginFailed,     // a plugin returned an error, crashed or hung
  kNoMemory,
  kStale,  // made for another build, device or machine
  kBusy,   // locked by another process
  kCancelled,
  kInternal,
};

// "invalid_argument" for Code::kInvalidArgument, and so on; stable, used in JSON.
const char* code_name(Code code);

class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Code code() const { return code_; }

 private:
  Code code_;
};

}  // namespace inlay
