// How a program that cannot go on says so: one line on standard error, and with --json an object on
// standard output as well, so that whoever reads that always gets one.
//
//   return report_error("inlay", "not_found", "m.onnx: there is no such file", 1, is_json);
//   → inlay: error: m.onnx: there is no such file
//   → {"error": {"code": "not_found", "message": "m.onnx: there is no such file", "status": 1}}
#pragma once

#include <string_view>

namespace inlay::cli {

inline constexpr int kExitError = 1;
inline constexpr int kExitUsage = 2;
inline constexpr const char* kUsageCode = "usage";  // beside code_name()'s

//   code     code_name() of an Error, or kUsageCode
//   returns  status
int report_error(std::string_view program, std::string_view code, std::string_view message,
                 int status, bool is_json);

// Whether --json is among the arguments, for errors in the others.
bool asks_for_json(int argc, const char* const* argv);

}  // namespace inlay::cli
