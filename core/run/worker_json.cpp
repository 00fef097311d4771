#include "core/run/worker_json.h"

#include <bit>

namespace inlay {
namespace {

Json deviation_json(const Deviation& d) {
  return {d.index, bits_json(d.got), bits_json(d.want), bits_json(d.bound)};
}

Deviation deviation_from(const Json& json) {
  return {json.at(0).get<std::int64_t>(), bits_value(json.at(1)), bits_value(json.at(2)),
          bits_value(json.at(3))};
}

}  // namespace

Json bits_json(double value) { return std::bit_cast<std::uint64_t>(value); }

double bits_value(const Json& json) { return std::bit_cast<double>(json.get<std::uint64_t>()); }

Json to_json(const Stats& stats) {
  return {{"median", bits_json(stats.median_ns)},
          {"low", bits_json(stats.low_ns)},
          {"high", bits_json(stats.high_ns)},
          {"samples", stats.samples}};
}

Stats stats_from(const Json& json) {
  return {bits_value(json.at("median")), bits_value(json.at("low")), bits_value(json.at("high")),
          json.at("samples").get<int>()};
}

Json to_json(const MeasureOptions& options) {
  return {{"min_samples", options.min_samples},
          {"max_seconds", bits_json(options.max_seconds)},
          {"target", bits_json(options.target_relative_ci)},
          {"target_ns", bits_json(options.target_ci_ns)},
          {"elsewhere_bytes", options.elsewhere_bytes},
          {"rival", bits_json(options.rival_ns)},
          {"give_up", bits_json(options.give_up_ns)}};
}

MeasureOptions measure_options_from(const Json& json) {
  return {json.at("min_samples").get<int>(),
          bits_value(json.at("max_seconds")),
          bits_value(json.at("target")),
          bits_value(json.at("target_ns")),
          json.at("elsewhere_bytes").get<std::int64_t>(),
          bits_value(json.at("rival")),
          bits_value(json.at("give_up"))};
}

Json to_json(const PairStats& stats) {
  return {{"first", to_json(stats.first)},           {"second", to_json(stats.second)},
          {"log_ratio", bits_json(stats.log_ratio)}, {"low", bits_json(stats.log_ratio_low)},
          {"high", bits_json(stats.log_ratio_high)}, {"pairs", stats.pairs}};
}

PairStats pair_stats_from(const Json& json) {
  return {stats_from(json.at("first")),     stats_from(json.at("second")),
          bits_value(json.at("log_ratio")), bits_value(json.at("low")),
          bits_value(json.at("high")),      json.at("pairs").get<int>()};
}

Json to_json(const PairOptions& options) {
  return {{"min_pairs", options.min_pairs},
          {"max_pairs", options.max_pairs},
          {"max_seconds", bits_json(options.max_seconds)},
          {"target", bits_json(options.target_width)}};
}

PairOptions pair_options_from(const Json& json) {
  return {json.at("min_pairs").get<int>(), json.at("max_pairs").get<int>(),
          bits_value(json.at("max_seconds")), bits_value(json.at("target"))};
}

Json to_json(const MaxValues& max_values) {
  Json json = Json::array();
  for (const auto& [input, value] : max_values) json.push_back({input, value});
  return json;
}

MaxValues max_values_from(const Json& json) {
  MaxValues max_values;
  for (const Json& pair : json) {
    max_values[pair.at(0).get<int>()] = pair.at(1).get<std::int64_t>();
  }
  return max_values;
}

Json to_json(const Tolerance& tolerance) {
  return {{"class", static_cast<int>(tolerance.kind)},
          {"depth", tolerance.depth},
          {"bound", bits_json(tolerance.relative_bound)}};
}

Tolerance tolerance_from(const Json& json) {
  return {static_cast<ToleranceClass>(json.at("class").get<int>()),
          json.at("depth").get<std::int64_t>(), bits_value(json.at("bound"))};
}

Json to_json(const Comparison& comparison) {
  return {{"count", comparison.count},
          {"failures", comparison.failures},
          {"first", deviation_json(comparison.first)},
          {"worst", deviation_json(comparison.worst)},
          {"ratio", bits_json(comparison.worst_ratio)}};
}

Comparison comparison_from(const Json& json) {
  return {json.at("count").get<std::int64_t>(), json.at("failures").get<std::int64_t>(),
          deviation_from(json.at("first")), deviation_from(json.at("worst")),
          bits_value(json.at("ratio"))};
}

}  // namespace inlay
