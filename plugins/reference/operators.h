// The compile function of every operator, by family. Each throws sdk::Decline for what it does not
// do.
#pragma once

#include "plugins/reference/operation.h"

namespace inlay::reference {

// conv.cpp, conv_transpose.cpp
Body compile_conv(const Operation& op);
Body compile_conv_integer(const Operation& op);
Body compile_qlinear_conv(const Operation& op);
Body compile_conv_transpose(const Operation& op);

// pool.cpp
Body compile_max_pool(const Operation& op);
Body compile_sum_pool(const Operation& op);  // AveragePool, LpPool
Body compile_global_pool(const Operation& op);

// matmul.cpp, einsum.cpp
Body compile_matmul(const Operation& op);
Body compile_gemm(const Operation& op);
Body compile_matmul_integer(const Operation& op);
Body compile_qlinear_matmul(const Operation& op);
Body compile_einsum(const Operation& op);

// elementwise_unary.cpp, activation.cpp
Body compile_unary(const Operation& op);
Body compile_activation(const Operation& op);  // with attributes: Elu, Gelu, HardSigmoid, ...
Body compile_clip(const Operation& op);

// elementwise_binary.cpp
Body compile_binary(const Operation& op);
Body compile_power(const Operation& op);
Body compile_where(const Operation& op);

// cast.cpp
Body compile_cast(const Operation& op);

// softmax.cpp
Body compile_softmax(const Operation& op);  // and LogSoftmax, Hardmax

// normalization.cpp, channel_normalization.cpp
Body compile_batch_normalization(const Operation& op);
Body compile_instance_normalization(const Operation& op);  // and GroupNormalization
Body compile_layer_normalization(const Operation& op);     // and RMSNormalization
Body compile_lrn(const Operation& op);
Body compile_lp_normalization(const Operation& op);
Body compile_mean_variance_normalization(const Operation& op);

// reduce.cpp, along_axis.cpp
Body compile_reduce(const Operation& op);
Body compile_arg_reduce(const Operation& op);
Body compile_cumsum(const Operation& op);
Body compile_top_k(const Operation& op);

// movement.cpp, pad.cpp
Body compile_reshape(const Operation& op);
Body compile_transpose(const Operation& op);
Body compile_concat(const Operation& op);
Body compile_split(const Operation& op);
Body compile_slice(const Operation& op);
Body compile_expand(const Operation& op);
Body compile_tile(const Operation& op);
Body compile_depth_to_space(const Operation& op);
Body compile_space_to_depth(const Operation& op);
Body compile_pad(const Operation& op);
Body compile_trilu(const Operation& op);
Body compile_eye_like(const Operation& op);

// gather.cpp, scatter.cpp
Body compile_gather(const Operation& op);
Body compile_gather_elements(const Operation& op);
Body compile_gather_nd(const Operation& op);
Body compile_scatter_elements(const Operation& op);
Body compile_scatter_nd(const Operation& op);
Body compile_one_hot(const Operation& op);

// resize.cpp, grid_sample.cpp
Body compile_resize(const Operation& op);
Body compile_grid_sample(const Operation& op);

// lstm.cpp, gru.cpp
Body compile_lstm(const Operation& op);
Body compile_gru(const Operation& op);
Body compile_rnn(const Operation& op);

// quantize.cpp
Body compile_quantize_linear(const Operation& op);
Body compile_dequantize_linear(const Operation& op);
Body compile_dynamic_quantize_linear(const Operation& op);

}  // namespace inlay::reference
