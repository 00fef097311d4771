#include "search/cost/cost_table.h"

#include <fmt/core.h>

namespace inlay {

const ConversionCost& CostTable::conversion(const TensorType& type, const Layout& from,
                                            const Layout& to) const {
  const auto found = conversions.find({to_string(type), from.text(), to.text()});
  if (found == conversions.end()) {
    throw Error(Code::kInternal, fmt::format("conversion of {} from {} to {} was not priced",
                                             to_string(type), from.text(), to.text()));
  }
  return found->second;
}

}  // namespace inlay
