#include "plugins/reference/operation.h"

#include <utility>

#include "plugins/reference/element.h"

namespace inlay::reference {
namespace {

using sdk::Decline;

Type type_of(const sdk::RegionView& region, int index, const std::string& title) {
  if (index < 0) return {};
  const sdk::ValueView value = region.value(index);
  if (size_of(value.dtype()) == 0) {
    throw Decline(title + ": value '" + std::string(value.name()) + "' has element type " +
                  std::to_string(value.dtype()) + ", which has no arithmetic here");
  }
  std::string dense;
  for (int d = 0; d < value.rank(); ++d) dense += static_cast<char>('a' + d);
  if (value.rank() > 0 && value.layout() != dense) {
    throw Decline(title + ": value '" + std::string(value.name()) + "' has layout " +
                  std::string(value.layout()) + ", expected " + dense);
  }
  return {value.dtype(), Dims(value.dims().begin(), value.dims().end())};
}

// Where an operand comes from: a constant's bytes, or a position among the run's inputs.
struct Source {
  int position = -1;
  const void* constant = nullptr;
};

class NodeKernel : public sdk::Kernel {
 public:
  NodeKernel(const sdk::RegionView& region, Body body) : body_(std::move(body)) {
    const sdk::NodeView node = region.node(0);
    for (const std::int32_t index : node.inputs()) {
      Source source;
      if (index >= 0 && region.value(index).is_constant()) {
        source.constant = region.value(index).constant().data();
      } else if (index >= 0) {
        source.position = region.input_position(index);
      }
      sources_.push_back(source);
    }
    for (const std::int32_t index : node.outputs()) {
      int position = -1;
      for (std::size_t i = 0; i < region.outputs().size(); ++i) {
        if (index >= 0 && region.outputs()[i] == index) position = static_cast<int>(i);
      }
      targets_.push_back(position);
    }
  }

  void run(std::span<const sdk::TensorView> inputs, std::span<const sdk::TensorView> outputs,
           const sdk::RunContext& context) const override {
    std::vector<const void*> in;
    std::vector<void*> out;
    in.reserve(sources_.size());
    out.reserve(targets_.size());
    for (const Source& source : sources_) {
      in.push_back(source.position >= 0 ? inputs[source.position].data() : source.constant);
    }
    for (const int position : targets_) {
      out.push_back(position >= 0 ? outputs[position].data() : nullptr);
    }
    body_(Run{in, out, context.host});
  }

 private:
  Body body_;
  std::vector<Source> sources_;
  std::vector<int> targets_;
};

}  // namespace

std::int64_t Type::count(int begin, int end) const {
  std::int64_t product = 1;
  for (int d = begin; d < end; ++d) product *= dims[d];
  return product;
}

Dims row_major_strides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (int d = static_cast<int>(dims.size()) - 2; d >= 0; --d) {
    strides[d] = strides[d + 1] * dims[d + 1];
  }
  return strides;
}

Operation::Operation(const sdk::RegionView& region) : node_(region.node(0)) {
  if (region.node_count() != 1) {
    throw Decline("the reference runs one operator at a time, the region has " +
                  std::to_string(region.node_count()));
  }
  for (const std::int32_t index : node_.inputs()) {
    inputs_.push_back(type_of(region, index, title()));
  }
  for (const std::int32_t index : node_.outputs()) {
    outputs_.push_back(type_of(region, index, title()));
  }
}

std::string Operation::title() const {
  return std::string(node_.op()) + " '" + std::string(node_.name()) + "'";
}

bool Operation::has_input(int i) const { return i < input_count() && inputs_[i].dtype != 0; }
bool Operation::has_output(int i) const { return i < output_count() && outputs_[i].dtype != 0; }

const Type& Operation::input(int i) const {
  if (!has_input(i)) throw Decline(title() + ": operand " + std::to_string(i) + " is missing");
  return inputs_[i];
}

const Type& Operation::output(int i) const {
  if (!has_output(i)) throw Decline(title() + ": result " + std::to_string(i) + " is missing");
  return outputs_[i];
}

Dims Operation::ints(std::string_view name, std::size_t count, std::int64_t fallback) const {
  if (!node_.has(name)) return Dims(count, fallback);
  const auto values = node_.get_ints(name);
  if (values.size() != count) {
    throw Decline(title() + ": expected " + std::to_string(count) + " values of " +
                  std::string(name) + ", found " + std::to_string(values.size()));
  }
  return Dims(values.begin(), values.end());
}

int Operation::axis(int rank, std::int64_t fallback) const {
  const std::int64_t axis = node_.get_int("axis", fallback);
  if (axis < 0 || axis >= rank) {
    throw Decline(title() + ": axis " + std::to_string(axis) + " is outside rank " +
                  std::to_string(rank));
  }
  return static_cast<int>(axis);
}

std::unique_ptr<sdk::Kernel> make_kernel(const sdk::RegionView& region, Body body) {
  return std::make_unique<NodeKernel>(region, std::move(body));
}

}  // namespace inlay::reference
