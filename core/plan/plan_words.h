// What the writer and the reader of a plan's text share: its words and its way to write bytes.
// Private to core/plan.
//
//   word_of(Storage::kView) == "view";   storage_of("view") == Storage::kView;   from_hex("00ff")
//   has two bytes
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"

namespace inlay {

inline constexpr const char* kPlanFormat = "inlay plan 1";

std::string_view word_of(Storage storage);
std::string_view word_of(StepKind kind);
std::optional<Storage> storage_of(std::string_view word);
std::optional<StepKind> step_kind_of(std::string_view word);

std::string to_hex(std::span<const std::byte> bytes);
std::optional<std::vector<std::byte>> from_hex(std::string_view text);  // nullopt if it is not hex

// Inverse of to_string(TensorType); nullopt if the text is not one.
std::optional<TensorType> parse_type(std::string_view text);

// Throws Error{kCorrupt} if running the plan could go wrong. Every text field and index is as the
// reader left it.
void check_plan(const Plan& plan, const std::string& source);

// The same for one region; `where` is its place in the document, "regions[3]".
void check_region(const Region& region, const std::string& source, const std::string& where);

// Type and layout of a value, checked so that Layout::size_bytes and dense_bytes cannot throw or
// overflow.
void check_type(const TensorType& type, const Layout& layout, const std::string& source,
                const std::string& where);

[[noreturn]] void refuse(const std::string& source, const std::string& where,
                         const std::string& what);

}  // namespace inlay
