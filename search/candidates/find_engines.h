// What an engine may be offered of a graph: the regions that its manifest's rule and the host's
// limits allow.
//
//   EngineFinds finds = find_engine_regions(graph, manifest.name, pattern, filter);
#pragma once

#include <string>
#include <vector>

#include "search/candidates/candidates.h"

namespace inlay {

// Different regions that an engine is offered where its manifest does not ask for fewer: each is
// compiled, checked and timed, which takes an engine from some tenths of a second to seconds.
inline constexpr int kMostEngineRegions = 24;

// Lighter parts of larger regions are not offered: a core does this much in the ten to twenty
// microseconds that a call of an engine takes by itself.
inline constexpr double kLeastPartWeight = 1e6;

struct EngineFinds {
  std::vector<Candidate> candidates;
  std::vector<WhyNot> why_not;  // nodes that it does not take
  EngineOffer offer;
};

// pattern  one with an opset in `any`
EngineFinds find_engine_regions(const Graph& graph, const std::string& plugin,
                                const ManifestPattern& pattern, const CandidateFilter& filter);

}  // namespace inlay
