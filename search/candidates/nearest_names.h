// What a user who misspelt a node's name may have meant.
//
//   const std::vector<std::string> near = nearest_names("conv1", {{"stem.conv", "Conv"}, …});
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inlay {

// At most five names, the likeliest first: few edits away, a common beginning, one within the
// other, or nodes of the operator that the wrong name begins with. Case does not count.
//   nodes  name and operator
std::vector<std::string> nearest_names(
    std::string_view wanted, const std::vector<std::pair<std::string, std::string>>& nodes);

}  // namespace inlay
