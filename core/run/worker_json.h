// The worker protocol: what each message's text says. Private to core/run.
//
// Request  {"do": hello | open | measure | measure_pair | check | outputs | load | attach | run |
//          release, …}; hello comes first and carries kProtocol. End: the socket closes.
// Reply    {"ok": {…}} or {"declined": reason} or {"failed": reason}, or, of a plugin that has a
//          process of its own there, {"crashed": [signal, exit status]} or {"hung": seconds}.
// Files    measure, load: weights. measure_pair, check: weights of each plan, in order. outputs:
//          weights, inputs; its reply: outputs. attach: the instance's memory.
#pragma once

#include <nlohmann/json.hpp>

#include "core/run/compare.h"
#include "core/run/measure.h"
#include "core/run/measure_pair.h"
#include "core/run/random_inputs.h"

namespace inlay {

inline constexpr int kProtocol = 2;
inline constexpr int kWorkerSocket =
    100;  // the worker's end of the socket; libraries take the low numbers

using Json = nlohmann::json;

// Doubles travel as their bits: JSON has no infinity and no NaN.
Json bits_json(double value);
double bits_value(const Json& json);

Json to_json(const Stats& stats);
Json to_json(const MeasureOptions& options);
Json to_json(const PairStats& stats);
Json to_json(const PairOptions& options);
Json to_json(const MaxValues& max_values);
Json to_json(const Tolerance& tolerance);
Json to_json(const Comparison& comparison);
Stats stats_from(const Json& json);
MeasureOptions measure_options_from(const Json& json);
PairStats pair_stats_from(const Json& json);
PairOptions pair_options_from(const Json& json);
MaxValues max_values_from(const Json& json);
Tolerance tolerance_from(const Json& json);
Comparison comparison_from(const Json& json);

}  // namespace inlay
