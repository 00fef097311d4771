#include "core/plan/memory_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace inlay {
namespace {

constexpr std::uint64_t kAlignment = 64;  // a cache line, and the widest vector register

std::uint64_t align(std::uint64_t size_bytes) {
  return (size_bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Which of the values added so far live together with another. Two lifetimes overlap iff one of
// them begins within the other, so only the steps at which something begins matter. A segment tree
// over these finds what spans a given one; de Berg et al., Computational Geometry, 3rd edition,
// chapter 10.3.
class LiveTogether {
 public:
  explicit LiveTogether(const std::vector<Lifetime>& lifetimes) : lifetimes_(lifetimes) {
    for (const Lifetime& l : lifetimes) starts_.push_back(l.first);
    std::sort(starts_.begin(), starts_.end());
    starts_.erase(std::unique(starts_.begin(), starts_.end()), starts_.end());
    beginning_.resize(starts_.size());
    spanning_.resize(2 * starts_.size());
  }

  void add(std::size_t value) {
    const auto [begin, end] = range_of(value);
    beginning_[begin].push_back(value);
    for (std::size_t l = begin + starts_.size(), r = end + starts_.size(); l < r; l /= 2, r /= 2) {
      if (l % 2 == 1) spanning_[l++].push_back(value);
      if (r % 2 == 1) spanning_[--r].push_back(value);
    }
  }

  // Replaces *out by the added values that live together with `value`, each once.
  void find(std::size_t value, std::vector<std::size_t>* out) const {
    const auto [begin, end] = range_of(value);
    out->clear();
    for (std::size_t n = begin + starts_.size(); n > 0; n /= 2) {
      out->insert(out->end(), spanning_[n].begin(), spanning_[n].end());
    }
    for (std::size_t s = begin + 1; s < end; ++s) {
      out->insert(out->end(), beginning_[s].begin(), beginning_[s].end());
    }
  }

 private:
  // Indices into starts_: the steps at which `value` lives, end exclusive.
  std::pair<std::size_t, std::size_t> range_of(std::size_t value) const {
    const auto begin = std::lower_bound(starts_.begin(), starts_.end(), lifetimes_[value].first);
    const auto end = std::upper_bound(begin, starts_.end(), lifetimes_[value].last);
    return {static_cast<std::size_t>(begin - starts_.begin()),
            static_cast<std::size_t>(end - starts_.begin())};
  }

  const std::vector<Lifetime>& lifetimes_;
  std::vector<int> starts_;
  std::vector<std::vector<std::size_t>> beginning_;
  std::vector<std::vector<std::size_t>> spanning_;
};

std::uint64_t most_live_bytes(const std::vector<Lifetime>& lifetimes) {
  struct Change {
    int step;
    bool ends;  // an end at step s takes effect after s: it sorts behind the starts of s
    std::uint64_t size_bytes;
  };
  std::vector<Change> changes;
  changes.reserve(2 * lifetimes.size());
  for (const Lifetime& l : lifetimes) {
    changes.push_back({l.first, false, align(l.size_bytes)});
    changes.push_back({l.last, true, align(l.size_bytes)});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.step != b.step ? a.step < b.step : a.ends < b.ends;
  });
  std::uint64_t live = 0;
  std::uint64_t most = 0;
  for (const Change& c : changes) {
    live = c.ends ? live - c.size_bytes : live + c.size_bytes;
    most = std::max(most, live);
  }
  return most;
}

}  // namespace

ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes) {
  ArenaPlan plan;
  plan.offsets.assign(lifetimes.size(), 0);
  plan.lower_bound_bytes = most_live_bytes(lifetimes);

  std::vector<std::size_t> by_size(lifetimes.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) {
    return lifetimes[a].size_bytes > lifetimes[b].size_bytes;
  });

  LiveTogether placed(lifetimes);
  std::vector<std::size_t> others;
  for (const std::size_t value : by_size) {
    const std::uint64_t size = align(lifetimes[value].size_bytes);
    if (size == 0) continue;
    placed.find(value, &others);
    std::sort(others.begin(), others.end(),
              [&](std::size_t a, std::size_t b) { return plan.offsets[a] < plan.offsets[b]; });
    std::uint64_t best = 0;
    std::uint64_t best_gap = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t end = 0;  // of the values met so far
    for (const std::size_t other : others) {
      const std::uint64_t offset = plan.offsets[other];
      if (offset >= end + size && offset - end < best_gap) {
        best_gap = offset - end;
        best = end;
      }
      end = std::max(end, offset + align(lifetimes[other].size_bytes));
    }
    if (best_gap == std::numeric_limits<std::uint64_t>::max()) best = end;
    plan.offsets[value] = best;
    plan.size_bytes = std::max(plan.size_bytes, best + size);
    placed.add(value);
  }
  return plan;
}

}  // namespace inlay
