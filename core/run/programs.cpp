#include "core/run/programs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/base/error.h"
#include "core/run/thread_pool.h"

namespace inlay {
namespace {

[[noreturn]] void refuse_stale(const PlanPlugin& plugin, const char* what,
                               const std::string& expected, const std::string& found) {
  throw Error(Code::kStale, fmt::format("plugin '{}': the plan was made for {} '{}', found '{}': "
                                        "place the model again",
                                        plugin.name, what, expected, found));
}

// The plugin's device that bears the plan's name for it.
std::shared_ptr<Device> find_device(const PlanPlugin& plugin, PluginHost& host) {
  std::vector<std::string> names;
  for (int index = 0;; ++index) {
    std::shared_ptr<Device> device;
    try {
      device = host.open_device(plugin.name, index);
    } catch (const Error&) {
      if (index == 0) throw;
      refuse_stale(plugin, "device", plugin.device, fmt::format("{}", fmt::join(names, "', '")));
    }
    if (device->name() == plugin.device) return device;
    names.push_back(device->name());
  }
}

// The region with the bytes of its constants.
Region with_constants(const Region& region, const PlanStep& step, const Weights& weights) {
  Region full = region;
  auto next = step.constants.begin();
  for (RegionValue& value : full.values) {
    if (value.is_constant && !value.constant) {
      value.constant = weights.tensors[static_cast<std::size_t>(*next++)];
    }
  }
  return full;
}

}  // namespace

int most_threads(const Region& region, int threads) {
  return region.most_threads == 0 ? threads : std::min(region.most_threads, threads);
}

std::vector<std::shared_ptr<Device>> open_devices(const Plan& plan, PluginHost& host) {
  std::vector<std::shared_ptr<Device>> devices;
  for (const PlanPlugin& plugin : plan.plugins) {
    const PluginRecord* record = host.find(plugin.name);
    if (record != nullptr && record->build_id != plugin.build_id) {
      refuse_stale(plugin, "build", plugin.build_id, record->build_id);
    }
    devices.push_back(find_device(plugin, host));
    const Device& device = *devices.back();
    if (device.fingerprint() != plugin.fingerprint) {
      refuse_stale(plugin, "a machine with", plugin.fingerprint, device.fingerprint());
    }
    if (device.space() != "host") {
      throw Error(Code::kUnsupported,
                  fmt::format("plugin '{}': device {} works in memory space {}, expected host",
                              plugin.name, device.name(), device.space()));
    }
  }
  return devices;
}

std::string name_of_step(const Plan& plan, std::size_t step) {
  constexpr std::size_t kMaxNames = 3;
  const std::vector<std::string>& nodes = plan.steps[step].nodes;
  const std::size_t shown = std::min(kMaxNames, nodes.size());
  return fmt::format(
      "step {} ({}{})", step,
      fmt::join(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
      nodes.size() > shown ? fmt::format(" and {} more", nodes.size() - shown) : "");
}

Programs compile_programs(const Plan& plan, const Weights& weights,
                          const std::vector<std::shared_ptr<Device>>& devices, int threads) {
  std::vector<Hash> hashes;
  for (const Region& region : plan.regions) hashes.push_back(region_hash(region, true));

  Programs programs;
  std::map<std::tuple<int, Hash, std::vector<int>>, int> index;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    if (step.kind != StepKind::kRun) {
      programs.of_step.push_back(-1);
      continue;
    }
    const auto region_index = static_cast<std::size_t>(step.region);
    const auto [entry, is_new] =
        index.try_emplace({step.plugin, hashes[region_index], step.constants},
                          static_cast<int>(programs.list.size()));
    programs.of_step.push_back(entry->second);
    if (!is_new) continue;
    Device& device = *devices[static_cast<std::size_t>(step.plugin)];
    const Region region = with_constants(plan.regions[region_index], step, weights);
    std::string declined;
    const int most = most_threads(region, threads);
    const auto compile = [&] {
      programs.list.push_back(device.compile(region, {.thread_cap = most}, &declined));
    };
    try {
      most < threads ? ThreadLimit(most).execute(compile) : compile();
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{}: {}", name_of_step(plan, s), error.what()));
    }
    if (programs.list.back() == nullptr) {
      throw Error(Code::kUnsupported,
                  fmt::format("{}: plugin '{}' declines: {}", name_of_step(plan, s),
                              device.plugin(), declined));
    }
    if (!programs.list.back()->retains_constants()) {
      for (const int constant : step.constants) weights.rest(constant);
    }
  }
  return programs;
}

}  // namespace inlay
