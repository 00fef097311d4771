// The bytes of a plan's constants: a file NAME.weights (64-byte aligned, hashed, mapped), or the
// same in memory while placing.
//
//   WeightsBuilder builder;  const int index = builder.add("w", tensor);     // equal bytes are
//   stored once write_weights("m.weights", builder.weights()); const Weights weights =
//   open_weights("m.weights", plan);                 // checks size and hash of each constant
#pragma once

#include <filesystem>
#include <map>
#include <vector>

#include "core/base/file.h"
#include "core/plan/plan.h"

namespace inlay {

struct Weights {
  std::vector<Tensor> tensors;  // one per Plan::constants entry, in the same order
  MappedFile file;              // in which the tensors lie; none for weights in memory

  // The constant will not be read for a while: its memory is free for others, if it can be read
  // from the file again.
  void rest(int constant) const;
};

// Collects constants, each distinct content once, and lays the file out.
class WeightsBuilder {
 public:
  // Index of the constant in Plan::constants.
  int add(const std::string& name, const Tensor& tensor);
  const std::vector<PlanConstant>& constants() const { return constants_; }
  const Weights& weights() const { return weights_; }

 private:
  std::vector<PlanConstant> constants_;
  Weights weights_;
  std::map<std::pair<Hash, std::string>, int> index_;  // content hash and type text
};

// throws  Error{kIo}; the file is written whole or not at all
void write_weights(const std::filesystem::path& path, const std::vector<PlanConstant>& constants,
                   const Weights& weights);

// throws  Error{kNotFound, kIo}; Error{kCorrupt} naming the first constant whose bytes are missing
// or changed
Weights open_weights(const std::filesystem::path& path, const std::vector<PlanConstant>& constants);

}  // namespace inlay
