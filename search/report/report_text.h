// Small words that the texts made from a report share. Private to search/report.
#pragma once

#include <string>

#include "search/report/report.h"

namespace inlay {

// A contender's "stop" where the search came to its end, but some candidates had no cost yet.
inline constexpr const char* kIncomplete = "incomplete";

// throws  Error{kCorrupt} if the report has none of that name
const Report& find_contender(const Report& report, const std::string& name);
const Report& find_winner(const Report& report);

// The same with every text fit for a line on a terminal: names come from a model.
Report printable_texts(const Report& report);

std::string join(const Report& array, const char* separator);
// "12.3 us"; "≈0" of what takes no longer alone than a step that does nothing, so that no time is
// left to show once that is taken off.
std::string time_text(double ns);
std::string spread(const Report& cost);            // "±1.2%"
std::string share_of(double ns, double total_ns);  // "12.3%"; empty of nothing

}  // namespace inlay
