// One function per family of operators. Each makes the kernel of a region whose main operator is of
// that family. throws  Decline; dnnl::error where oneDNN refuses
#pragma once

#include <memory>

#include "core/sdk/kernel.h"

namespace inlay::onednn {

std::unique_ptr<sdk::Kernel> compile_convolution(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_matmul(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_aggregation(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_recurrent(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_pool(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_reduction(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_resize(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_softmax(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_layer_normalization(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_batch_normalization(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_prelu(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_lrn(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_instance_normalization(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_unary(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_binary(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_clip(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_concat(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_depth(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_repeat(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_split(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_slice(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_gather(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_pad(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_cast(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_convert(const sdk::RegionView& region);
std::unique_ptr<sdk::Kernel> compile_transpose(const sdk::RegionView& region);

}  // namespace inlay::onednn
