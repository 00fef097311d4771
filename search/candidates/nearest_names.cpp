#include "search/candidates/nearest_names.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace inlay {
namespace {

constexpr std::size_t kShown = 5;

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// The fewest insertions, removals and changes of a character that make one text of the other.
// source  Wagner and Fischer, The String-to-String Correction Problem, JACM 21(1), 1974
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);  // of the a-prefix so far to each prefix of b
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

// The lower, the likelier that the name was meant.
double unlikeness(const std::string& wanted, const std::string& name, const std::string& op) {
  const auto longest = static_cast<double>(std::max({wanted.size(), name.size(), std::size_t{1}}));
  const auto end = std::mismatch(wanted.begin(), wanted.end(), name.begin(), name.end()).first;
  const auto prefix = static_cast<double>(end - wanted.begin());
  double likeness = 1 - static_cast<double>(edit_distance(wanted, name)) / longest;
  likeness += prefix / longest;
  const bool is_within = name.find(wanted) != std::string::npos ||
                         (!name.empty() && wanted.find(name) != std::string::npos);
  if (is_within) likeness += 1;
  if (!op.empty() && wanted.starts_with(op)) likeness += 0.5;
  return -likeness;
}

}  // namespace

std::vector<std::string> nearest_names(
    std::string_view wanted, const std::vector<std::pair<std::string, std::string>>& nodes) {
  const std::string lower = lower_case(wanted);
  std::vector<std::pair<double, std::size_t>> scored;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto& [name, op] = nodes[i];
    scored.emplace_back(unlikeness(lower, lower_case(name), lower_case(op)), i);
  }
  std::sort(scored.begin(), scored.end());
  scored.resize(std::min(kShown, scored.size()));
  std::vector<std::string> names;
  for (const auto& [score, i] : scored) names.push_back(nodes[i].first);
  return names;
}

}  // namespace inlay
