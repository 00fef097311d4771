#include "search/strategies/frontier.h"

#include <algorithm>
#include <limits>

namespace inlay {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr int kAnyLayout =
    0xff;  // every layout still asked for is available: the original does not matter

// Header: words of cover, waiting options, live values.
constexpr std::uint64_t kFieldBits = 21;
constexpr std::uint64_t kFieldMask = (std::uint64_t{1} << kFieldBits) - 1;

std::uint64_t pack(const LiveValue& live) {
  return static_cast<std::uint64_t>(live.value) << 32 |
         static_cast<std::uint64_t>(live.layout) << 24 | live.available;
}

LiveValue unpack(std::uint64_t word) {
  return {static_cast<int>(word >> 32), static_cast<int>(word >> 24 & 0xffU),
          static_cast<std::uint32_t>(word & 0xffffffU)};
}

auto find_live(std::vector<LiveValue>& live, int value) {
  return std::lower_bound(live.begin(), live.end(), value,
                          [](const LiveValue& entry, int wanted) { return entry.value < wanted; });
}

bool is_live(const std::vector<LiveValue>& live, int value) {
  const auto it =
      std::lower_bound(live.begin(), live.end(), value,
                       [](const LiveValue& entry, int wanted) { return entry.value < wanted; });
  return it != live.end() && it->value == value;
}

bool covers(const PlacementOption& option, int position) {
  const int offset = position - option.first;
  if (offset < 0) return false;
  const auto word = static_cast<std::size_t>(offset) / 64;
  return word < option.cover.size() && (option.cover[word] >> (offset % 64) & 1U) != 0;
}

}  // namespace

Frontier FrontierSteps::start() const {
  Frontier frontier;
  for (std::size_t v = 0; v < problem_.values.size(); ++v) {
    const ProblemValue& known = problem_.values[v];
    if (known.producer >= 0 || known.last_use < 0) continue;
    frontier.live.push_back({static_cast<int>(v), known.dense, std::uint32_t{1} << known.dense});
  }
  forget(frontier);
  return frontier;
}

bool FrontierSteps::is_ready(const PlacementOption& option, const Frontier& frontier) const {
  return std::all_of(
      option.inputs.begin(), option.inputs.end(),
      [&frontier](const LayoutPort& port) { return is_live(frontier.live, port.value); });
}

double FrontierSteps::run(const PlacementOption& option, Frontier& frontier) const {
  double cost = 0;
  for (const LayoutPort& port : option.inputs) {
    LiveValue& live = *find_live(frontier.live, port.value);
    const std::uint32_t bit = std::uint32_t{1} << port.layout;
    if ((live.available & bit) != 0) continue;
    cost += value(port.value).convert(live.layout, port.layout);
    live.available |= bit;
  }
  for (const LayoutPort& port : option.outputs) {
    const ProblemValue& made = value(port.value);
    if (made.last_use < 0) continue;
    std::uint32_t available = std::uint32_t{1} << port.layout;
    if (made.is_output) available |= std::uint32_t{1} << made.dense;  // paid as output_cost
    frontier.live.insert(find_live(frontier.live, port.value),
                         {port.value, port.layout, available});
  }
  return cost;
}

double FrontierSteps::run_waiting(Frontier& frontier) const {
  double cost = 0;
  for (std::size_t i = 0; i < frontier.waiting.size();) {
    const PlacementOption& waiting = option(frontier.waiting[i]);
    if (!is_ready(waiting, frontier)) {
      ++i;
      continue;
    }
    cost += run(waiting, frontier);
    frontier.waiting.erase(frontier.waiting.begin() + static_cast<std::ptrdiff_t>(i));
    i = 0;  // what it made may be what an earlier one waits for
  }
  return cost;
}

bool FrontierSteps::has_cycle(const std::vector<int>& waiting) const {
  // Take away, again and again, an option that reads nothing of the others: what stays is a cycle.
  std::vector<int> rest = waiting;
  for (bool changed = true; changed && !rest.empty();) {
    changed = false;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      const PlacementOption& reader = option(rest[i]);
      const bool depends =
          std::any_of(reader.inputs.begin(), reader.inputs.end(), [&](const LayoutPort& port) {
            return std::any_of(rest.begin(), rest.end(), [&](int other) {
              return other != rest[i] && covers(option(other), value(port.value).producer);
            });
          });
      if (depends) continue;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      changed = true;
      break;
    }
  }
  return !rest.empty();
}

void FrontierSteps::advance(Frontier& frontier) const {
  std::vector<std::uint64_t>& cover = frontier.cover;
  std::size_t words = 0;
  while (words < cover.size() && cover[words] == ~std::uint64_t{0}) ++words;
  cover.erase(cover.begin(), cover.begin() + static_cast<std::ptrdiff_t>(words));
  frontier.base += static_cast<int>(words) * 64;
  if (!cover.empty()) {
    const int shift = __builtin_ctzll(~cover[0]);
    frontier.base += shift;
    for (std::size_t i = 0; shift > 0 && i < cover.size(); ++i) {
      const std::uint64_t next = i + 1 < cover.size() ? cover[i + 1] << (64 - shift) : 0;
      cover[i] = cover[i] >> shift | next;
    }
  }
  while (!cover.empty() && cover.back() == 0) cover.pop_back();
}

std::uint32_t FrontierSteps::demand(int index, int base, std::span<const int> waiting) const {
  std::uint32_t wanted = value(index).demand_at(base);
  for (const int w : waiting) {
    for (const LayoutPort& port : option(w).inputs) {
      if (port.value == index) wanted |= std::uint32_t{1} << port.layout;
    }
  }
  return wanted;
}

// Drops what nothing will ask for, so that states with the same future are equal.
void FrontierSteps::forget(Frontier& frontier) const {
  std::size_t kept = 0;
  for (LiveValue live : frontier.live) {
    const std::uint32_t wanted = demand(live.value, frontier.base, frontier.waiting);
    if (wanted == 0) continue;
    live.available &= wanted;
    if (live.available == wanted) live.layout = kAnyLayout;
    frontier.live[kept++] = live;
  }
  frontier.live.resize(kept);
}

double FrontierSteps::extend(const Frontier& from, int index, Frontier& to) const {
  const PlacementOption& chosen = option(index);
  const std::size_t shared = std::min(from.cover.size(), chosen.cover.size());
  for (std::size_t i = 0; i < shared; ++i) {
    if ((from.cover[i] & chosen.cover[i]) != 0) return kInfinite;
  }
  to.base = from.base;
  to.cover = from.cover;
  to.cover.resize(std::max(from.cover.size(), chosen.cover.size()), 0);
  for (std::size_t i = 0; i < chosen.cover.size(); ++i) to.cover[i] |= chosen.cover[i];
  to.waiting = from.waiting;
  to.live = from.live;

  double cost = chosen.cost + chosen.output_cost;
  if (is_ready(chosen, to)) {
    cost += run(chosen, to);
    cost += run_waiting(to);
  } else {
    to.waiting.insert(std::lower_bound(to.waiting.begin(), to.waiting.end(), index), index);
    if (has_cycle(to.waiting)) return kInfinite;
  }
  if (cost == kInfinite) return kInfinite;
  advance(to);
  forget(to);
  return cost;
}

void FrontierSteps::encode(const Frontier& frontier, std::vector<std::uint64_t>& words) const {
  words.clear();
  words.push_back(static_cast<std::uint64_t>(frontier.cover.size()) |
                  static_cast<std::uint64_t>(frontier.waiting.size()) << kFieldBits |
                  static_cast<std::uint64_t>(frontier.live.size()) << (2 * kFieldBits));
  words.insert(words.end(), frontier.cover.begin(), frontier.cover.end());
  for (const int w : frontier.waiting) words.push_back(static_cast<std::uint64_t>(w));
  for (const LiveValue& live : frontier.live) words.push_back(pack(live));
}

std::size_t FrontierSteps::structure_words(std::span<const std::uint64_t> words) {
  return 1 + static_cast<std::size_t>(words[0] & kFieldMask) +
         static_cast<std::size_t>(words[0] >> kFieldBits & kFieldMask);
}

Frontier FrontierSteps::decode(int base, std::span<const std::uint64_t> words) const {
  Frontier frontier;
  frontier.base = base;
  const auto cover_words = static_cast<std::size_t>(words[0] & kFieldMask);
  const std::size_t structure = structure_words(words);
  frontier.cover.assign(words.begin() + 1,
                        words.begin() + 1 + static_cast<std::ptrdiff_t>(cover_words));
  for (std::size_t i = 1 + cover_words; i < structure; ++i)
    frontier.waiting.push_back(static_cast<int>(words[i]));
  for (std::size_t i = structure; i < words.size(); ++i) frontier.live.push_back(unpack(words[i]));
  return frontier;
}

double FrontierSteps::distance(int base, std::span<const std::uint64_t> from,
                               std::span<const std::uint64_t> to) const {
  const std::size_t structure = structure_words(from);
  const auto cover_words = static_cast<std::size_t>(from[0] & kFieldMask);
  double total = 0;
  for (std::size_t i = structure; i < from.size(); ++i) {
    if (from[i] == to[i]) continue;
    const LiveValue a = unpack(from[i]);
    const LiveValue b = unpack(to[i]);
    // Live in one state only: its readers are placed above `base`, in the other one together with
    // what makes it.
    if (a.value != b.value) return kInfinite;
    std::uint32_t wanted = value(a.value).demand_at(base);
    for (std::size_t w = 1 + cover_words; w < structure; ++w) {
      for (const LayoutPort& port : option(static_cast<int>(from[w])).inputs) {
        if (port.value == a.value) wanted |= std::uint32_t{1} << port.layout;
      }
    }
    for (; wanted != 0; wanted &= wanted - 1) {
      const int layout = __builtin_ctz(wanted);
      const auto price = [&](const LiveValue& live) {
        return (live.available >> layout & 1U) != 0
                   ? 0
                   : value(live.value).convert(live.layout, layout);
      };
      const double cost_from = price(a);
      const double cost_to = price(b);
      if (cost_from > cost_to) total += cost_from - cost_to;
    }
  }
  return total;
}

double FrontierSteps::remaining(const Frontier& frontier) const {
  double rest = problem_.share_from[static_cast<std::size_t>(frontier.base)];
  for (std::size_t word = 0; word < frontier.cover.size(); ++word) {
    for (std::uint64_t bits = frontier.cover[word]; bits != 0; bits &= bits - 1) {
      const auto offset = word * 64 + static_cast<std::size_t>(__builtin_ctzll(bits));
      rest -= problem_.share[static_cast<std::size_t>(frontier.base) + offset];
    }
  }
  return rest;
}

}  // namespace inlay
