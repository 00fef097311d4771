#include "search/cost/boundary.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/error.h"
#include "search/verify/verify.h"

namespace inlay {
namespace {

// A conversion is short; half the time of a region's measurement gives the same spread.
constexpr double kConversionSeconds = 0.1;

// Steps of the plan that dispatch is read from: enough that a run is well above the clock's
// resolution.
constexpr int kManySteps = 64;
constexpr std::uint64_t kSlotBytes = 64;

Lowered host_conversion(const ConversionWork& work, int threads) {
  Lowered lowered;
  Plan& plan = lowered.plan;
  plan.model = "conversion";
  plan.threads = threads;
  plan.values = {{.name = "x", .type = work.type, .layout = work.from, .storage = Storage::kInput},
                 {.name = "y", .type = work.type, .layout = work.to, .storage = Storage::kOutput}};
  PlanStep step;
  step.kind = StepKind::kConvert;
  step.inputs = {0};
  step.outputs = {1};
  plan.steps = {std::move(step)};
  plan.inputs = {0};
  plan.outputs = {1};
  return lowered;
}

// Plugins that declare this conversion: those that would match a graph of this one node.
std::vector<std::string> converters(const ConversionWork& work, PluginHost& host) {
  GraphBuilder builder("conversion");
  const ValueId x = builder.input("x", work.type);
  Node node;
  node.name = "convert";
  node.domain = "inlay";
  node.op = "Convert";
  node.inputs = {x};
  builder.output(builder.node_with_types(std::move(node), {work.type}, {"y"}).front());
  const Graph graph = builder.build();

  const std::string pattern = conversion_region(work.type, work.from, work.to).pattern;
  std::vector<std::string> plugins;
  try {
    for (const Candidate& candidate : find_candidates(graph, host).list) {
      if (candidate.pattern != pattern || candidate.input_layouts != std::vector{work.from} ||
          candidate.output_layouts != std::vector{work.to}) {
        continue;
      }
      plugins.push_back(candidate.plugin);
    }
  } catch (const Error& error) {
    if (error.code() != Code::kUnsupported) throw;  // no plugin converts: the host does
  }
  return plugins;
}

class ConversionPricer {
 public:
  ConversionPricer(double precise_ns, Meter& meter) : precise_ns_(precise_ns), meter_(meter) {}

  ConversionCost price(const ConversionWork& work) {
    const std::string name =
        fmt::format("{} {} to {}", to_string(work.type), work.from.text(), work.to.text());
    meter_.check_cancelled();
    meter_.report("conversion " + name);
    const Measurement own = by_host(work, name);
    if (own.status != MeasurementStatus::kOk) {
      throw Error(Code::kInternal,
                  fmt::format("the host's own conversion of {}: {}", name, own.reason));
    }
    ConversionCost best{own.cost, ""};
    for (const std::string& plugin : converters(work, meter_.context().host)) {
      const std::optional<Measurement> m = by_plugin(work, plugin);
      if (m && m->status == MeasurementStatus::kOk && m->cost.ns < best.cost.ns)
        best = {m->cost, plugin};
    }
    meter_.advance();
    return best;
  }

 private:
  MeasureRequest request() const {
    MeasureRequest request;
    request.seed = meter_.context().seed;
    request.options.max_seconds = kConversionSeconds;
    request.options.target_ci_ns = precise_ns_;
    if (meter_.is_budget_spent()) request.options.give_up_ns = 0;
    return request;
  }

  Measurement by_host(const ConversionWork& work, const std::string& name) {
    const MeasurementKey key = meter_.host_key(MeasurementKind::kConversion, name);
    if (const auto known = meter_.find(key)) return *known;
    return meter_.measure(key, host_conversion(work, meter_.context().host.threads()), request());
  }

  std::optional<Measurement> by_plugin(const ConversionWork& work, const std::string& plugin) {
    if (!meter_.why_unopened(plugin).empty()) return std::nullopt;
    const PriceContext& context = meter_.context();
    const Region region = conversion_region(work.type, work.from, work.to);
    const MeasurementKey key =
        region_key(MeasurementKind::kConversion, region, plugin, context.host);
    if (const auto known = meter_.find(key)) return known;
    const bool is_left_out = !meter_.standing().why_out(plugin).empty();
    if (is_left_out || meter_.is_budget_spent()) return std::nullopt;
    const CheckResult check = check_region(region, plugin, "exact",
                                           {context.host, context.database, context.worker,
                                            context.seed, nullptr, context.start_patience});
    if (!check.is_ok()) {
      meter_.standing().count(plugin, check.status, summary(region), check.reason);
      return std::nullopt;
    }
    const Measurement m =
        meter_.measure(key, lower_region(region, plugin, context.host), request());
    if (m.status != MeasurementStatus::kOk) {
      meter_.standing().count(plugin, m.status, summary(region), m.reason);
    }
    return m;
  }

  double precise_ns_;
  Meter& meter_;
};

// A chain of Relu on one element, each step reading what the one before wrote.
Lowered tiny_steps(int count, PluginHost& host) {
  const TensorType type{DType::kF32, {1}};
  Region region;
  region.pattern = "Relu";
  region.values = {
      {.name = "x", .port = "", .type = type, .layout = Layout::dense(1), .constant = {}},
      {.name = "y", .port = "", .type = type, .layout = Layout::dense(1), .constant = {}}};
  region.nodes = {{.name = "relu",
                   .domain = "",
                   .op = "Relu",
                   .inputs = {0},
                   .outputs = {1},
                   .attributes = {}}};
  region.inputs = {0};
  region.outputs = {1};
  Lowered lowered = lower_region(region, kReferencePlugin, host);
  Plan& plan = lowered.plan;
  const PlanStep step = plan.steps.front();
  const int output = plan.outputs.front();
  plan.steps.clear();
  int source = plan.inputs.front();
  for (int i = 0; i < count; ++i) {
    PlanStep next = step;
    next.inputs = {source};
    next.outputs = {output};
    if (i + 1 < count) {
      plan.values.push_back({.name = fmt::format("t{}", i),
                             .type = type,
                             .layout = Layout::dense(1),
                             .storage = Storage::kTemporary,
                             .offset_bytes = kSlotBytes * static_cast<std::uint64_t>(i)});
      next.outputs = {static_cast<int>(plan.values.size()) - 1};
    }
    source = next.outputs.front();
    plan.steps.push_back(std::move(next));
  }
  plan.arena_bytes = kSlotBytes * static_cast<std::uint64_t>(count - 1);
  plan.arena_lower_bound_bytes = std::min(plan.arena_bytes, 2 * kSlotBytes);
  return lowered;
}

double time_tiny_steps(int count, Meter& meter) {
  const MeasurementKey key =
      meter.host_key(MeasurementKind::kDispatch, fmt::format("{} steps", count));
  std::optional<Measurement> m = meter.find(key);
  if (!m) {
    MeasureRequest request;
    request.seed = meter.context().seed;
    request.options.max_seconds = kConversionSeconds;
    m = meter.measure(key, tiny_steps(count, meter.context().host), request);
  }
  if (m->status != MeasurementStatus::kOk) {
    throw Error(Code::kPluginFailed, fmt::format("dispatch cannot be measured: {}", m->reason));
  }
  return m->cost.ns;
}

}  // namespace

std::map<ConversionKey, ConversionCost> price_conversions(
    const std::vector<ConversionWork>& conversions, double precise_ns, Meter& meter) {
  std::map<ConversionKey, ConversionCost> costs;
  ConversionPricer pricer(precise_ns, meter);
  for (const ConversionWork& work : conversions) {
    costs[{to_string(work.type), work.from.text(), work.to.text()}] = pricer.price(work);
  }
  return costs;
}

StepOverhead price_dispatch(Meter& meter) {
  meter.report("dispatch");
  const double one = time_tiny_steps(1, meter);
  const double many = time_tiny_steps(kManySteps, meter);
  meter.advance();
  return {std::max(0.0, (many - one) / (kManySteps - 1)), one};
}

}  // namespace inlay
