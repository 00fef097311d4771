// Regions made from what a manifest declares: the plugin says what it can run, these are examples
// of it. Each is found by the host's own matcher in a graph made for it, so that what a plugin is
// given here is what it will be given in use.
//
//   const SampleSet set = make_samples(manifest, {.kind = SampleKind::kOdd});
//   for (const Sample& sample : set.list) ...
//
// Operand types come from the constraints where they say something, else from what the operator
// takes (operand_types.h); the rest is drawn at random until the matcher is content.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/host/manifest.h"
#include "core/plan/region.h"

namespace inlay::check {

enum class SampleKind {
  kPlain,  // small even extents
  kOdd,    // ones and primes
  kEmpty,  // an extent of zero
};
inline constexpr int kSampleKinds = 3;

struct Sample {
  std::string pattern;
  std::string tolerance;
  Region region;
  std::vector<std::pair<int, int>> aliases;  // (output, input) positions that may share memory
  std::string broken;                        // of a near miss: the clause that does not hold
};
std::string describe(const Sample& sample);  // "pattern 'relu': Relu(x) f32[2x3]"

struct SampleSet {
  std::vector<Sample> list;
  std::vector<std::string> missing;  // "pattern 'conv': ConvTranspose": no sample found
};

struct SampleOptions {
  SampleKind kind = SampleKind::kPlain;
  std::uint64_t seed = 1;
  int most_per_pattern = 8;  // operators of an `ops` list have one each whatever this says
};

// Patterns that want CPU features that are missing here are left out.
SampleSet make_samples(const Manifest& manifest, const SampleOptions& options);

// Regions that a pattern does not take, by one clause each: of a type, rank or constness that it
// does not name, or with a comparison turned round. `missing` names clauses for which none was
// found.
SampleSet make_near_misses(const Manifest& manifest, std::uint64_t seed);

}  // namespace inlay::check
