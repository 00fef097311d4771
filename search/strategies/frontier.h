// A state of the dynamic program: which nodes are placed and what the rest can see of them.
//
//   Placed nodes are all positions below `base` and those in `cover`. An option always starts at
//   the lowest position not placed, so each placement has one way of being built. An option whose
//   inputs are not all made waits; when they are, it runs, which charges its conversions and makes
//   its outputs. Options that wait for each other are a cycle.
//
//   Frontier next;
//   const double added = steps.extend(frontier, option_index, next);   // infinite: not a step
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/strategies/problem.h"

namespace inlay {

// A made value that is still read: the layout it was made in and those it is available in.
struct LiveValue {
  int value;
  int layout;
  std::uint32_t available;
};

struct Frontier {
  int base = 0;
  std::vector<std::uint64_t> cover;  // bit i: position base + i is placed; bit 0 is clear
  std::vector<int> waiting;          // option indices, ascending
  std::vector<LiveValue> live;       // by value
};

class FrontierSteps {
 public:
  explicit FrontierSteps(const PlacementProblem& problem) : problem_(problem) {}

  Frontier start() const;

  // Writes the state after choosing an option that begins at `from.base`. Returns what it adds to
  // the cost; infinite if it overlaps placed nodes, closes a cycle or needs a conversion that does
  // not exist.
  double extend(const Frontier& from, int option, Frontier& to) const;

  // A state as words; equal states are equal words. The first structure_words(words) of them say
  // what is placed and waiting, the rest the live values.
  void encode(const Frontier& frontier, std::vector<std::uint64_t>& words) const;
  Frontier decode(int base, std::span<const std::uint64_t> words) const;
  static std::size_t structure_words(std::span<const std::uint64_t> words);

  // The most it can cost to bring the live values of `from` to where those of `to` are; both of the
  // same structure and length. Infinite if they are not the same values.
  double distance(int base, std::span<const std::uint64_t> from,
                  std::span<const std::uint64_t> to) const;

  // A lower bound on the cost of placing what is not placed.
  double remaining(const Frontier& frontier) const;

 private:
  const PlacementOption& option(int index) const {
    return problem_.options[static_cast<std::size_t>(index)];
  }
  const ProblemValue& value(int index) const {
    return problem_.values[static_cast<std::size_t>(index)];
  }
  bool is_ready(const PlacementOption& option, const Frontier& frontier) const;
  double run(const PlacementOption& option, Frontier& frontier) const;
  double run_waiting(Frontier& frontier) const;
  bool has_cycle(const std::vector<int>& waiting) const;
  void advance(Frontier& frontier) const;
  void forget(Frontier& frontier) const;
  std::uint32_t demand(int value, int base, std::span<const int> waiting) const;

  const PlacementProblem& problem_;
};

}  // namespace inlay
