// One operator compiled by the reference's kernels and run, without the plugin ABI.
//
//   KernelCase c("Transpose", {{"perm", std::vector<std::int64_t>{1, 0}}});
//   c.input(Tensor::from<float>({1, 2}, {1, 2}));
//   const Tensor y = c.run({DType::kF32, {2, 1}});
//
// Every case runs twice, operands as inputs and as constants, on a host that runs the parts of
// parallel_for backwards; both must give the same bytes and leave the inputs alone.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/attribute.h"
#include "core/base/rng.h"
#include "core/base/tensor.h"
#include "plugins/reference/compile.h"

namespace inlay::reference {

class KernelCase {
 public:
  explicit KernelCase(std::string op, Attributes attributes = {})
      : op_(std::move(op)), attributes_(std::move(attributes)) {}

  KernelCase& input(Tensor tensor) {
    operand_values_.push_back(static_cast<std::int32_t>(tensors_.size()));
    tensors_.push_back(std::move(tensor));
    return *this;
  }
  KernelCase& absent() {
    operand_values_.push_back(-1);
    return *this;
  }
  // The value of an earlier operand once more: x - x.
  KernelCase& again(int operand) {
    operand_values_.push_back(operand_values_[operand]);
    return *this;
  }

  // Results of these types; one without a type is not read, and its tensor is empty.
  // throws  sdk::Decline, and what the kernel throws
  std::vector<Tensor> run_all(const std::vector<std::optional<TensorType>>& results) {
    std::vector<Tensor> from_inputs = run_once(results, false);
    const std::vector<Tensor> from_constants = run_once(results, true);
    for (std::size_t i = 0; i < results.size(); ++i) {
      EXPECT_TRUE(!results[i] || from_inputs[i] == from_constants[i])
          << "constants change result " << i;
    }
    return from_inputs;
  }
  Tensor run(const TensorType& result) { return run_all({result})[0]; }

 private:
  // The C structs of a region; deques keep their addresses.
  struct Arena {
    std::deque<inlay_layout> layouts;
    std::deque<std::vector<std::int32_t>> orders;
    std::deque<inlay_tensor> tensors;
    std::deque<inlay_value> values;
    std::deque<inlay_attribute> attributes;
    std::deque<std::vector<const char*>> strings;
    std::deque<std::string> texts;
  };

  std::vector<Tensor> run_once(const std::vector<std::optional<TensorType>>& results,
                               bool as_constants) {
    Arena arena;
    std::vector<const inlay_value*> values;
    std::vector<std::int32_t> input_values, output_values, node_outputs;
    std::vector<inlay_tensor> inputs, outputs;
    std::vector<Tensor> copies = tensors_, made(results.size());
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      copies[i] = copy_of(tensors_[i]);
      const inlay_tensor& view = tensor_view(arena, copies[i]);
      inlay_value value = value_of(arena, copies[i].type());
      if (as_constants) {
        value.constant = &view;
      } else {
        input_values.push_back(static_cast<std::int32_t>(i));
        inputs.push_back(view);
      }
      values.push_back(&arena.values.emplace_back(value));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!results[i]) {
        node_outputs.push_back(-1);
        continue;
      }
      made[i] = Tensor::zeros(*results[i]);
      std::memset(made[i].mutable_bytes().data(), 0x7b, made[i].size_bytes());
      node_outputs.push_back(static_cast<std::int32_t>(values.size()));
      output_values.push_back(node_outputs.back());
      values.push_back(&arena.values.emplace_back(value_of(arena, *results[i])));
      outputs.push_back(tensor_view(arena, made[i]));
    }
    const std::vector<const inlay_attribute*> attributes = attribute_views(arena);
    const inlay_node node{sizeof(inlay_node),
                          "n",
                          "",
                          op_.c_str(),
                          static_cast<std::int32_t>(operand_values_.size()),
                          operand_values_.data(),
                          static_cast<std::int32_t>(node_outputs.size()),
                          node_outputs.data(),
                          static_cast<std::int32_t>(attributes.size()),
                          attributes.data()};
    const inlay_node* nodes[] = {&node};
    const inlay_region region{sizeof(inlay_region),
                              "case",
                              static_cast<std::int32_t>(values.size()),
                              values.data(),
                              1,
                              nodes,
                              static_cast<std::int32_t>(input_values.size()),
                              input_values.data(),
                              static_cast<std::int32_t>(output_values.size()),
                              output_values.data()};
    const inlay_host host_table = make_host();
    const sdk::Host host(&host_table);
    const auto kernel = compile_region(sdk::RegionView(&region), {host, 2});
    kernel->run(views(inputs), views(outputs), {host, nullptr});
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      EXPECT_TRUE(copies[i] == tensors_[i]) << "operand " << i << " was written";
    }
    return made;
  }

  static Tensor copy_of(const Tensor& tensor) {
    Tensor copy = Tensor::zeros(tensor.type());
    if (tensor.size_bytes() > 0) {
      std::memcpy(copy.mutable_bytes().data(), tensor.data(), tensor.size_bytes());
    }
    return copy;
  }

  static inlay_host make_host() {
    inlay_host host{};
    host.struct_size = sizeof(host);
    host.parallel_for = [](void*, std::int64_t count, void (*body)(void*, std::int64_t),
                           void* argument) {
      for (std::int64_t i = count; i-- > 0;) body(argument, i);
    };
    host.thread_cap = [](void*) { return std::int32_t{2}; };
    return host;
  }

  static const inlay_layout* layout_of(Arena& arena, int rank) {
    std::string text;
    std::vector<std::int32_t>& order = arena.orders.emplace_back();
    for (int d = 0; d < rank; ++d) {
      order.push_back(d);
      text += static_cast<char>('a' + d);
    }
    const std::string& kept = arena.texts.emplace_back(rank == 0 ? "scalar" : text);
    return &arena.layouts.emplace_back(
        inlay_layout{sizeof(inlay_layout), rank, order.data(), 0, nullptr, nullptr, kept.c_str()});
  }

  static const inlay_tensor& tensor_view(Arena& arena, const Tensor& tensor) {
    const int rank = static_cast<int>(tensor.shape().size());
    return arena.tensors.emplace_back(
        inlay_tensor{sizeof(inlay_tensor), static_cast<inlay_dtype>(tensor.dtype()), rank,
                     tensor.shape().data(), layout_of(arena, rank),
                     const_cast<std::byte*>(tensor.data()), nullptr, 0, tensor.size_bytes()});
  }

  static inlay_value value_of(Arena& arena, const TensorType& type) {
    const int rank = static_cast<int>(type.shape.size());
    return {sizeof(inlay_value),
            "v",
            nullptr,
            static_cast<inlay_dtype>(type.dtype),
            rank,
            type.shape.data(),
            layout_of(arena, rank),
            nullptr,
            nullptr};
  }

  std::vector<const inlay_attribute*> attribute_views(Arena& arena) const {
    std::vector<const inlay_attribute*> views;
    for (const auto& [name, attribute] : attributes_) {
      inlay_attribute view{};
      view.struct_size = sizeof(view);
      view.name = name.c_str();
      view.count = 1;
      if (const auto* i = std::get_if<std::int64_t>(&attribute)) {
        view.kind = INLAY_ATTRIBUTE_INT;
        view.ints = i;
      } else if (const auto* f = std::get_if<float>(&attribute)) {
        view.kind = INLAY_ATTRIBUTE_FLOAT;
        view.floats = f;
      } else if (const auto* text = std::get_if<std::string>(&attribute)) {
        view.kind = INLAY_ATTRIBUTE_STRING;
        view.strings = arena.strings.emplace_back(std::vector<const char*>{text->c_str()}).data();
      } else if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute)) {
        view.kind = INLAY_ATTRIBUTE_INTS;
        view.count = static_cast<std::int64_t>(list->size());
        view.ints = list->data();
      } else if (const auto* numbers = std::get_if<std::vector<float>>(&attribute)) {
        view.kind = INLAY_ATTRIBUTE_FLOATS;
        view.count = static_cast<std::int64_t>(numbers->size());
        view.floats = numbers->data();
      } else {
        const auto& texts = std::get<std::vector<std::string>>(attribute);
        view.kind = INLAY_ATTRIBUTE_STRINGS;
        view.count = static_cast<std::int64_t>(texts.size());
        auto& pointers = arena.strings.emplace_back();
        for (const std::string& text : texts) pointers.push_back(text.c_str());
        view.strings = pointers.data();
      }
      views.push_back(&arena.attributes.emplace_back(view));
    }
    return views;
  }

  static std::vector<sdk::TensorView> views(const std::vector<inlay_tensor>& tensors) {
    std::vector<sdk::TensorView> views;
    for (const inlay_tensor& tensor : tensors) views.emplace_back(&tensor);
    return views;
  }

  std::string op_;
  Attributes attributes_;
  std::vector<Tensor> tensors_;
  std::vector<std::int32_t> operand_values_;
};

using Ints = std::vector<std::int64_t>;

inline Tensor floats(Shape shape, const std::vector<float>& values) {
  return Tensor::from<float>(std::move(shape), values);
}

inline Tensor random_floats(Rng& rng, Shape shape) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  for (float& value : values) value = static_cast<float>(2 * rng.uniform() - 1);
  return floats(std::move(shape), values);
}

template <typename T>
std::vector<T> values_of(const Tensor& tensor) {
  const auto values = tensor.as<T>();
  return {values.begin(), values.end()};
}

// Equal, or one unit in the last place of f32 apart: both sides sum in double and round once,
// perhaps in another order.
inline void expect_close(const Tensor& found, const std::vector<double>& expected) {
  const auto values = found.as<float>();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double bound = std::max(std::fabs(expected[i]) * 0x1p-23, 1e-12);
    ASSERT_NEAR(values[i], expected[i], bound) << "element " << i;
  }
}

}  // namespace inlay::reference
