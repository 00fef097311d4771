#include "search/strategies/downset_search.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>

#include "search/strategies/frontier.h"

namespace inlay {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::size_t kHurriedStates = 16;  // beam once the time is up: ends soon, with a placement
// A state is compared with this many cheaper ones; those far apart in cost rarely say anything
// about each other.
constexpr std::size_t kDominanceChecks = 48;

std::uint64_t hash_words(std::span<const std::uint64_t> words) {
  std::uint64_t hash = 0x9e3779b97f4a7c15U;
  for (const std::uint64_t word : words) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdU;
    hash ^= hash >> 32;
  }
  return hash;
}

struct StoredState {
  std::size_t offset;  // into the bucket's words
  std::uint32_t length;
  int parent;  // step that led here, -1 at the start
  int option;
  double cost;
  std::uint64_t hash;
};

// States of one base position: words in one pool, found by an open-addressed table.
class Bucket {
 public:
  void insert(std::span<const std::uint64_t> words, double cost, int parent, int option) {
    if ((states_.size() + 1) * 2 > table_.size()) grow();
    const std::uint64_t hash = hash_words(words);
    for (std::size_t slot = hash & (table_.size() - 1);; slot = (slot + 1) & (table_.size() - 1)) {
      const int index = table_[slot];
      if (index < 0) {
        table_[slot] = static_cast<int>(states_.size());
        states_.push_back(
            {pool_.size(), static_cast<std::uint32_t>(words.size()), parent, option, cost, hash});
        pool_.insert(pool_.end(), words.begin(), words.end());
        return;
      }
      StoredState& known = states_[static_cast<std::size_t>(index)];
      if (known.hash != hash || !std::ranges::equal(words, this->words(known))) continue;
      if (cost < known.cost) {
        known.cost = cost;
        known.parent = parent;
        known.option = option;
      }
      return;
    }
  }

  const std::vector<StoredState>& states() const { return states_; }
  std::span<const std::uint64_t> words(const StoredState& state) const {
    return std::span(pool_).subspan(state.offset, state.length);
  }

 private:
  void grow() {
    table_.assign(std::max<std::size_t>(16, table_.size() * 2), -1);
    for (std::size_t i = 0; i < states_.size(); ++i) {
      std::size_t slot = states_[i].hash & (table_.size() - 1);
      while (table_[slot] >= 0) slot = (slot + 1) & (table_.size() - 1);
      table_[slot] = static_cast<int>(i);
    }
  }

  std::vector<std::uint64_t> pool_;
  std::vector<StoredState> states_;
  std::vector<int> table_;
};

class DownsetSearch {
 public:
  DownsetSearch(const PlacementProblem& problem, const SearchLimits& limits)
      : problem_(problem),
        limits_(limits),
        steps_(problem),
        width_(std::max<std::size_t>(1, limits.max_states)),
        started_(std::chrono::steady_clock::now()) {}

  DownsetResult search() {
    const int end = problem_.node_count;
    buckets_.resize(static_cast<std::size_t>(end) + 1);
    std::vector<std::uint64_t> words;
    steps_.encode(steps_.start(), words);
    bucket(0).insert(words, 0, -1, -1);
    for (int base = 0; base < end; ++base) {
      if (!buckets_[static_cast<std::size_t>(base)]) continue;
      check_limits();
      expand(base);
      buckets_[static_cast<std::size_t>(base)].reset();
    }
    return finish();
  }

 private:
  // How a state was reached; kept for all states that went on, to trace the best placement back.
  struct Step {
    int parent;
    int option;
  };

  Bucket& bucket(int base) {
    auto& slot = buckets_[static_cast<std::size_t>(base)];
    if (!slot) slot = std::make_unique<Bucket>();
    return *slot;
  }

  void check_limits() {
    if (result_.stop == StopReason::kBudget || result_.stop == StopReason::kCancelled) return;
    const bool is_cancelled = limits_.cancelled != nullptr && limits_.cancelled->load();
    const bool is_late =
        limits_.budget.count() > 0 && std::chrono::steady_clock::now() - started_ > limits_.budget;
    if (!is_cancelled && !is_late) return;
    result_.stop = is_cancelled ? StopReason::kCancelled : StopReason::kBudget;
    width_ = std::min(width_, is_cancelled ? std::size_t{1} : kHurriedStates);
  }

  void expand(int base) {
    const Bucket& current = *buckets_[static_cast<std::size_t>(base)];
    std::vector<int> survivors = undominated(current, base);
    if (survivors.size() > width_) narrow(current, base, survivors);
    Frontier next;
    std::vector<std::uint64_t> words;
    for (const int index : survivors) {
      const StoredState& state = current.states()[static_cast<std::size_t>(index)];
      ++result_.states;
      const Frontier frontier = steps_.decode(base, current.words(state));
      const int step = static_cast<int>(trail_.size());
      trail_.push_back({state.parent, state.option});
      const int begin = problem_.option_begin[static_cast<std::size_t>(base)];
      const int end = problem_.option_begin[static_cast<std::size_t>(base) + 1];
      for (int option = begin; option < end; ++option) {
        const double added = steps_.extend(frontier, option, next);
        if (added == kInfinite) continue;
        steps_.encode(next, words);
        bucket(next.base).insert(words, state.cost + added, step, option);
      }
    }
  }

  // Drops states that a cheaper one of the same structure can be turned into without losing its
  // lead. Ascending.
  std::vector<int> undominated(const Bucket& current, int base) const {
    const std::vector<StoredState>& states = current.states();
    std::vector<int> order(states.size());
    std::iota(order.begin(), order.end(), 0);
    if (states.size() == 1) return order;
    std::vector<std::uint64_t> structure(states.size());
    for (std::size_t i = 0; i < states.size(); ++i) {
      const auto words = current.words(states[i]);
      structure[i] = hash_words(words.first(FrontierSteps::structure_words(words)));
    }
    const auto at = [](int i) { return static_cast<std::size_t>(i); };
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return std::tie(structure[at(a)], states[at(a)].cost, a) <
             std::tie(structure[at(b)], states[at(b)].cost, b);
    });
    std::vector<int> kept;
    std::size_t group = 0;  // where the present structure's begin in `kept`
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i > 0 && structure[at(order[i])] != structure[at(order[i - 1])]) group = kept.size();
      const std::size_t last = std::min(kept.size(), group + kDominanceChecks);
      bool is_dominated = false;
      for (std::size_t k = group; k < last && !is_dominated; ++k) {
        is_dominated = dominates(current, states[at(kept[k])], states[at(order[i])], base);
      }
      if (!is_dominated) kept.push_back(order[i]);
    }
    std::sort(kept.begin(), kept.end());
    return kept;
  }

  bool dominates(const Bucket& current, const StoredState& a, const StoredState& b,
                 int base) const {
    const auto words_a = current.words(a);
    const auto words_b = current.words(b);
    const std::size_t structure = FrontierSteps::structure_words(words_a);
    // Guards against two structures of one hash. Equal structures need not have equally many live
    // values: a value that only placed nodes read is live where those were placed one by one.
    if (words_a.size() != words_b.size() ||
        !std::ranges::equal(words_a.first(structure), words_b.first(structure))) {
      return false;
    }
    return a.cost + steps_.distance(base, words_a, words_b) <= b.cost;
  }

  void narrow(const Bucket& current, int base, std::vector<int>& survivors) {
    const std::vector<StoredState>& states = current.states();
    std::vector<std::pair<double, int>> scored;
    for (const int index : survivors) {
      const StoredState& state = states[static_cast<std::size_t>(index)];
      scored.emplace_back(state.cost + steps_.remaining(steps_.decode(base, current.words(state))),
                          index);
    }
    std::sort(scored.begin(), scored.end());
    dropped_bound_ = std::min(dropped_bound_, scored[width_].first);
    survivors.clear();
    for (std::size_t i = 0; i < width_; ++i) survivors.push_back(scored[i].second);
    std::sort(survivors.begin(), survivors.end());
    if (result_.stop == StopReason::kOptimal) result_.stop = StopReason::kBeamLimit;
  }

  DownsetResult finish() {
    const auto& last = buckets_.back();
    result_.bound = dropped_bound_;
    if (!last) return result_;
    const StoredState& best = last->states()[0];  // nothing is live at the end: one state
    result_.is_found = true;
    result_.cost = best.cost;
    result_.bound = std::min(best.cost, dropped_bound_);
    // Out of time but without having dropped anything: still exact.
    if (dropped_bound_ == kInfinite) result_.stop = StopReason::kOptimal;
    int option = best.option;
    for (int step = best.parent; option >= 0;) {
      result_.chosen.push_back(problem_.options[static_cast<std::size_t>(option)].candidate);
      option = trail_[static_cast<std::size_t>(step)].option;
      step = trail_[static_cast<std::size_t>(step)].parent;
    }
    return result_;
  }

  const PlacementProblem& problem_;
  const SearchLimits& limits_;
  FrontierSteps steps_;
  std::size_t width_;
  std::chrono::steady_clock::time_point started_;
  std::vector<std::unique_ptr<Bucket>> buckets_;
  std::vector<Step> trail_;
  double dropped_bound_ = kInfinite;
  DownsetResult result_;
};

}  // namespace

DownsetResult search_downsets(const PlacementProblem& problem, const SearchLimits& limits) {
  return DownsetSearch(problem, limits).search();
}

}  // namespace inlay
