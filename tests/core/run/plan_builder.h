// Plans for the test plugin `runner`, written step by step.
//
//   PlanBuilder builder(host);
//   const int x = builder.input("x", {4}), y = builder.output("y", {4});
//   builder.run("Increment", {x}, y);
//   Executor executor(builder.plan(), builder.weights(), host);
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/host/plugin_host.h"
#include "core/plan/plan.h"
#include "core/plan/weights.h"

namespace inlay {

// Where `runner` is built; for HostOptions::search_path.
std::vector<std::filesystem::path> runner_path();

class PlanBuilder {
 public:
  explicit PlanBuilder(PluginHost& host);

  // Values of f32; an empty layout means dense.
  int input(const std::string& name, Shape shape, const std::string& layout = "");
  int output(const std::string& name, Shape shape, const std::string& layout = "");
  int temporary(Shape shape, const std::string& layout = "");  // memory of its own
  int view(int of, Shape shape);
  int constant(const Tensor& tensor);

  // A step of one node; `weight` becomes its constant "W".
  void run(const std::string& op, const std::vector<int>& inputs, int output,
           const std::optional<Tensor>& weight = std::nullopt);
  void convert(int from, int to);
  void copy(int from, int to);

  // Checked by parse_plan.
  Plan plan() const;
  const Weights& weights() const { return weights_.weights(); }

 private:
  int add(const std::string& name, Shape shape, const std::string& layout, Storage storage);

  Plan plan_;
  WeightsBuilder weights_;
};

}  // namespace inlay
