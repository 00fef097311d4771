// Small words that the texts made from a report share. Private to search/report.
#pragma once

#include <string>

#include "search/report/report.h"

namespace inlay {

std::string join(const Report& array, const char* separator);
std::string spread(const Report& cost);            // "±1.2%"
std::string share_of(double ns, double total_ns);  // "12.3%"; empty of nothing

}  // namespace inlay
