// One region compiled by one plugin and run on random inputs, for the tests of plugins.
//
//   PluginBench bench("onednn", 2);
//   RegionCase c("conv");
//   const int x = c.input("X", {1, 3, 8, 8}, "acdb");
//   const int w = c.constant("W", {5, 3, 3, 3});
//   c.apply("Conv", {x, w}, {1, 5, 6, 6}, conv_attributes(...), "acdb");
//   const std::vector<float> y = c.run(bench);        // row-major; c.values(x) is what X held
//
// run also checks that no input was written and that the padding of a blocked output is zero.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/base/log.h"
#include "core/host/plugin_host.h"
#include "core/run/thread_pool.h"

namespace inlay {

class PluginBench {
 public:
  PluginBench(const std::string& plugin, int threads)
      : pool_(threads),
        host_(log_,
              HostOptions{.search_path = {std::string(INLAY_PLUGIN_DIR) + "/" + plugin + ".so"},
                          .exclude = {},
                          .threads = threads,
                          .parallel_for = pool_.parallel_for()}),
        device_(host_.open_device(plugin)),
        threads_(threads) {}

  Device& device() { return *device_; }
  int threads() const { return threads_; }
  const Manifest& manifest() const { return host_.plugins()[0].manifest; }

 private:
  NullLog log_;
  ThreadPool pool_;
  PluginHost host_;
  std::shared_ptr<Device> device_;
  int threads_;
};

// Where a run's output lies.
enum class Place { kOwnMemory, kFirstInput };

class RegionCase {
 public:
  explicit RegionCase(std::string pattern, unsigned seed = 1) : random_(seed) {
    region_.pattern = std::move(pattern);
  }

  int input(const std::string& port, const Shape& shape, const std::string& layout = "") {
    return add(port, shape, layout, false, random_values(shape));
  }
  int input(const std::string& port, const Shape& shape, const std::vector<float>& values) {
    return add(port, shape, "", false, values);
  }
  int constant(const std::string& port, const Shape& shape) {
    return add(port, shape, "", true, random_values(shape));
  }
  int constant(const std::string& port, const Shape& shape, const std::vector<float>& values) {
    return add(port, shape, "", true, values);
  }

  // Values of any type, for the checks that draw their own inputs.
  int input(const std::string& port, const TensorType& type) {
    return append({"", port, type, Layout::dense(static_cast<int>(type.shape.size())), false, {}});
  }
  int constant(const std::string& port, const Tensor& tensor) {
    return append({"", port, tensor.type(), Layout::dense(static_cast<int>(tensor.shape().size())),
                   true, tensor});
  }

  // Appends a node and returns its output. What no node reads is an output of the region.
  int apply(const std::string& op, const std::vector<int>& operands, const Shape& shape,
            const Attributes& attributes = {}, const std::string& layout = "") {
    return apply_all(op, operands, {{DType::kF32, shape}}, attributes, layout)[0];
  }

  // The same for a node of several outputs, all in one layout.
  std::vector<int> apply_all(const std::string& op, const std::vector<int>& operands,
                             const std::vector<TensorType>& types,
                             const Attributes& attributes = {}, const std::string& layout = "") {
    std::vector<int> outputs;
    for (const TensorType& type : types) {
      const int rank = static_cast<int>(type.shape.size());
      outputs.push_back(append({"",
                                "",
                                type,
                                layout.empty() ? Layout::dense(rank) : parse_layout(layout).value(),
                                false,
                                {}}));
    }
    const std::size_t dot = op.find('.');
    region_.nodes.push_back({"", dot == op.npos ? "" : op.substr(0, dot),
                             dot == op.npos ? op : op.substr(dot + 1), operands, outputs,
                             attributes});
    return outputs;
  }

  const Region& region() {
    finish();
    return region_;
  }

  const std::vector<float>& values(int value) const { return values_[value]; }
  const Shape& shape(int value) const { return region_.values[value].type.shape; }

  // Compiles; null with the reason in *declined if the plugin declined.
  std::unique_ptr<Program> compile(PluginBench& bench, std::string* declined) {
    finish();
    return bench.device().compile(region_, CompileOptions{.thread_cap = bench.threads()}, declined);
  }

  std::string reason_declined(PluginBench& bench) {
    std::string reason;
    return compile(bench, &reason) ? "" : reason;
  }

  std::vector<float> run(PluginBench& bench) {
    std::string reason;
    const std::unique_ptr<Program> program = compile(bench, &reason);
    if (!program) {
      ADD_FAILURE() << region_.pattern << " declined: " << reason;
      return {};
    }
    return run(*program);
  }

  // Runs a compiled program in memory of its own; may be called from several threads at once.
  std::vector<float> run(Program& program, Place place = Place::kOwnMemory) const {
    Memory workspace(program.workspace_bytes());
    const std::unique_ptr<Instance> instance =
        program.instantiate(program.workspace_bytes() > 0 ? workspace.data() : nullptr);
    std::vector<Memory> inputs;
    std::vector<HostTensor> input_tensors;
    for (const int index : region_.inputs) inputs.push_back(laid_out(index));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const RegionValue& value = region_.values[region_.inputs[i]];
      input_tensors.push_back({&value.type, &value.layout, inputs[i].data()});
    }
    const RegionValue& result = region_.values[region_.outputs[0]];
    Memory output(result.layout.size_bytes(result.type));
    std::fill(output.floats().begin(), output.floats().end(), 1e30f);
    const bool is_in_place = place == Place::kFirstInput;
    const HostTensor output_tensor{&result.type, &result.layout,
                                   is_in_place ? inputs[0].data() : output.data()};
    instance->bind(input_tensors, {&output_tensor, 1});
    instance->run();
    if (is_in_place) return row_major(result, inputs[0]);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_EQ(
          std::memcmp(inputs[i].data(), laid_out(region_.inputs[i]).data(), inputs[i].size_bytes()),
          0)
          << "input " << i << " was written";
    }
    return row_major(result, output);
  }

 private:
  // 64-byte aligned, as the host's memory is.
  class Memory {
   public:
    explicit Memory(std::size_t size_bytes)
        : size_bytes_(size_bytes),
          data_(static_cast<std::byte*>(std::aligned_alloc(64, (size_bytes + 127) / 64 * 64)),
                std::free) {}
    std::byte* data() const { return data_.get(); }
    std::size_t size_bytes() const { return size_bytes_; }
    std::span<float> floats() const {
      return {reinterpret_cast<float*>(data_.get()), size_bytes_ / sizeof(float)};
    }

   private:
    std::size_t size_bytes_;
    std::unique_ptr<std::byte, void (*)(void*)> data_;
  };

  std::vector<float> random_values(const Shape& shape) {
    std::uniform_real_distribution<float> distribution(-1, 1);
    std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
    for (float& value : values) value = distribution(random_);
    return values;
  }

  int add(const std::string& port, const Shape& shape, const std::string& layout, bool is_constant,
          const std::vector<float>& values) {
    const int rank = static_cast<int>(shape.size());
    RegionValue value{"",
                      port,
                      {DType::kF32, shape},
                      layout.empty() ? Layout::dense(rank) : parse_layout(layout).value(),
                      is_constant,
                      {}};
    if (is_constant) value.constant = Tensor::from<float>(shape, values);
    const int index = append(std::move(value));
    values_[index] = values;
    return index;
  }

  int append(RegionValue value) {
    value.name = "v" + std::to_string(values_.size());
    region_.values.push_back(std::move(value));
    values_.emplace_back();
    return static_cast<int>(values_.size()) - 1;
  }

  void finish() {
    std::set<int> made, read;
    region_.inputs.clear();
    region_.outputs.clear();
    for (const RegionNode& node : region_.nodes) {
      for (const int index : node.inputs) {
        if (index < 0 || !read.insert(index).second) continue;
        if (!region_.values[index].is_constant && !made.contains(index)) {
          region_.inputs.push_back(index);
        }
      }
      made.insert(node.outputs.begin(), node.outputs.end());
    }
    for (const RegionNode& node : region_.nodes) {
      for (const int index : node.outputs) {
        if (!read.contains(index)) region_.outputs.push_back(index);
      }
    }
    for (std::size_t i = 0; i < region_.outputs.size(); ++i) {
      region_.values[region_.outputs[i]].port = i == 0 ? "out" : "out" + std::to_string(i);
    }
  }

  Memory laid_out(int index) const {
    const RegionValue& value = region_.values[index];
    Memory memory(value.layout.size_bytes(value.type));
    convert_layout(value.type, Layout::dense(value.layout.rank()),
                   reinterpret_cast<const std::byte*>(values_[index].data()), value.layout,
                   memory.data());
    return memory;
  }

  static std::vector<float> row_major(const RegionValue& value, const Memory& memory) {
    const Layout dense = Layout::dense(value.layout.rank());
    std::vector<float> result(static_cast<std::size_t>(element_count(value.type.shape)));
    convert_layout(value.type, value.layout, memory.data(), dense,
                   reinterpret_cast<std::byte*>(result.data()));
    Memory again(memory.size_bytes());
    convert_layout(value.type, dense, reinterpret_cast<const std::byte*>(result.data()),
                   value.layout, again.data());
    EXPECT_EQ(std::memcmp(again.data(), memory.data(), memory.size_bytes()), 0)
        << "the padding of " << value.layout.text() << " is not zero";
    return result;
  }

  std::mt19937 random_;
  Region region_;
  std::vector<std::vector<float>> values_;  // row-major; empty for what nodes make
};

}  // namespace inlay
