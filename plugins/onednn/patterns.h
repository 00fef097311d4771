// What the oneDNN plugin declares. One family of layouts is written out per rank and CPU:
// row-major, channels last, and channels in blocks as wide as a vector register.
#pragma once

#include "core/sdk/pattern.h"

#define INLAY_ONEDNN_ACTIVATION "[Relu|LeakyRelu|Clip|Sigmoid|Tanh|HardSwish|HardSigmoid|Elu|Gelu]"

namespace inlay::onednn {

// From row-major to blocks is for a network's first layer. oneDNN has no kernel for the way back.
inline constexpr const char* kConvLayouts =
    "dense"
    "|X:acdb out:acdb"
    "|X:aBcd16b out:aBcd16b @avx512f"
    "|X:abcd out:aBcd16b @avx512f"
    "|X:aBcd8b out:aBcd8b @avx2 @!avx512f"
    "|X:abcd out:aBcd8b @avx2 @!avx512f";

inline constexpr const char* kConvAddLayouts =
    "dense"
    "|X:acdb R:acdb out:acdb"
    "|X:aBcd16b R:aBcd16b out:aBcd16b @avx512f"
    "|X:aBcd8b R:aBcd8b out:aBcd8b @avx2 @!avx512f";

// One operand of rank 4 beside row-major.
inline constexpr const char* kImageLayouts =
    "X:acdb out:acdb"
    "|X:aBcd16b out:aBcd16b @avx512f"
    "|X:aBcd8b out:aBcd8b @avx2 @!avx512f";

inline constexpr const char* kImagePairLayouts =
    "A:acdb B:acdb out:acdb"
    "|A:aBcd16b B:aBcd16b out:aBcd16b @avx512f"
    "|A:aBcd8b B:aBcd8b out:aBcd8b @avx2 @!avx512f";

inline constexpr const char* kConvertLayouts =
    "X:abcd out:acdb|X:acdb out:abcd"
    "|X:abcd out:aBcd16b @avx512f|X:aBcd16b out:abcd @avx512f"
    "|X:acdb out:aBcd16b @avx512f|X:aBcd16b out:acdb @avx512f"
    "|X:abcd out:aBcd8b @avx2 @!avx512f|X:aBcd8b out:abcd @avx2 @!avx512f"
    "|X:acdb out:aBcd8b @avx2 @!avx512f|X:aBcd8b out:acdb @avx2 @!avx512f";

inline constexpr sdk::Pattern kPatterns[] = {
    // Convolution
    {.id = "conv",
     .match = INLAY_ONEDNN_ACTIVATION "?(Conv(X,W,B?))",
     .where = "X: f32[n,c,h,w]; W,B: f32 const",
     .layouts = kConvLayouts},
    {.id = "conv_swish",
     .match = "Mul(c=Conv(X,W,B?),[Sigmoid|HardSigmoid](c))",
     .where = "X: f32[n,c,h,w]; W,B: f32 const",
     .layouts = kConvLayouts},
    {.id = "conv_add",
     .match = INLAY_ONEDNN_ACTIVATION "?(Add(Conv(X,W,B?),R))",
     .where = "X: f32[n,c,h,w]; W,B: f32 const; R,out: f32[n,o,p,q]; R: f32 dynamic",
     .layouts = kConvAddLayouts},
    {.id = "conv_1d_3d",
     .match = INLAY_ONEDNN_ACTIVATION "?(Conv(X,W,B?))",
     .where = "X: f32; W,B: f32 const; rank(X) != 4"},
    {.id = "conv_transpose",
     .match = INLAY_ONEDNN_ACTIVATION "?(ConvTranspose(X,W,B?))",
     .where = "X: f32[n,c,h,w]; W,B: f32 const",
     .layouts = kConvLayouts},

    // Matrix products
    {.id = "gemm",
     .match = INLAY_ONEDNN_ACTIVATION "?(Gemm(A,B,C?))",
     .where = "A,B,C: f32; Gemm.alpha == 1; Gemm.beta == 1"},
    {.id = "matmul",
     .match = INLAY_ONEDNN_ACTIVATION "?(MatMul(A,B))",
     .where = "A,B: f32; rank(A) >= 2; rank(B) >= 2"},
    {.id = "matmul_add",
     .match = INLAY_ONEDNN_ACTIVATION "?(Add?(Add(MatMul(A,B),C),R))",
     .where = "A,B,C,R: f32; rank(A) >= 2; rank(B) >= 2"},
    {.id = "matmul_scale",
     .match = "Add?([Mul|Div](MatMul(A,B),S),M)",
     .where = "A,B,S,M: f32; rank(A) >= 2; rank(B) >= 2"},
    {.id = "matmul_transposed",
     .match = "Add?([Mul|Div]?(MatMul(A,Transpose(B)),S),M)",
     .where = "A,B,S,M: f32; rank(A) >= 2; rank(B) >= 2"},
    {.id = "matmul_both_transposed",
     .match = "Add?([Mul|Div]?(MatMul(p=Transpose(A),q=Transpose(B)),S),M)",
     .where = "A,B,S,M: f32; rank(A) >= 2; rank(B) >= 2"},
    {.id = "matmul_swish",
     .match = "Mul(c=Add(MatMul(A,B),C),Sigmoid(c))",
     .where = "A,B,C: f32; rank(A) >= 2; rank(B) >= 2"},
    {.id = "matmul_gelu",
     .match = "Mul(Mul(c=Add(MatMul(A,B),C),Add(Erf([Div|Mul](c,S)),O)),H)",
     .where = "A,B,C: f32; rank(A) >= 2; rank(B) >= 2; value(O) == 1; value(H) == 0.5"},

    // Sequences. By number, since the two initial states may be one constant: X, W, R, B, lengths,
    // h, c, peepholes.
    {.id = "recurrent",
     .ops = "LSTM GRU RNN",
     .where = "0,5,6: f32; 1,2,3,7: f32 const; 4: i32 const"},

    // Windows
    {.id = "pool",
     .match = "[MaxPool|AveragePool|GlobalAveragePool|GlobalMaxPool](X)",
     .where = "X: f32"},
    {.id = "pool_image",
     .match = "[MaxPool|AveragePool|GlobalAveragePool|GlobalMaxPool](X)",
     .where = "X: f32[n,c,h,w]",
     .layouts = kImageLayouts},
    {.id = "reduce", .match = "[ReduceMean|ReduceSum|ReduceMax|ReduceMin](X)", .where = "X: f32"},
    {.id = "resize", .match = "Resize(X)", .where = "X: f32"},
    {.id = "resize_image",
     .match = "Resize(X)",
     .where = "X: f32[n,c,h,w]",
     .layouts = kImageLayouts},

    // Normalization
    {.id = "softmax", .match = "Softmax(X)", .where = "X: f32", .alias = "out=X"},
    {.id = "layer_normalization",
     .match = "LayerNormalization(X,S,B?)",
     .where = "X,S,B: f32",
     .alias = "out=X"},
    {.id = "batch_normalization",
     .match = "Relu?(BatchNormalization(X,S,B,M,V))",
     .where = "X,S,B,M,V: f32",
     .alias = "out=X"},
    {.id = "batch_normalization_image",
     .match = "Relu?(BatchNormalization(X,S,B,M,V))",
     .where = "X: f32[n,c,h,w]; S,B,M,V: f32",
     .layouts = kImageLayouts,
     .alias = "out=X"},

    // Elementwise. Left out: Log, LogSoftmax and Softplus, which are some 3e-6 off, and Exp and
    // HardSigmoid, which lose NaN.
    {.id = "clip",
     .match = "[Relu|Clip](X)",
     .where = "X: f32",
     .tolerance = "exact",
     .alias = "out=X"},
    {.id = "clip_image",
     .match = "[Relu|Clip](X)",
     .where = "X: f32[n,c,h,w]",
     .layouts = kImageLayouts,
     .tolerance = "exact",
     .alias = "out=X"},
    {.id = "unary_arithmetic",
     .match = "[LeakyRelu|Abs|Neg|Sqrt|Round](X)",
     .where = "X: f32",
     .tolerance = "elementwise",
     .alias = "out=X"},
    {.id = "unary",
     .match = "[Sigmoid|Tanh|HardSwish|Elu|Gelu|Swish|Mish](X)",
     .where = "X: f32",
     .tolerance = "transcendental",
     .alias = "out=X"},
    {.id = "unary_image",
     .match = "[LeakyRelu|Sigmoid|Tanh|HardSwish|Elu|Gelu|Swish|Mish](X)",
     .where = "X: f32[n,c,h,w]",
     .layouts = kImageLayouts,
     .tolerance = "transcendental",
     .alias = "out=X"},
    {.id = "swish",
     .match = "Mul(X,[Sigmoid|HardSigmoid](X))",
     .where = "X: f32",
     .tolerance = "transcendental",
     .alias = "out=X"},
    {.id = "swish_image",
     .match = "Mul(X,[Sigmoid|HardSigmoid](X))",
     .where = "X: f32[n,c,h,w]",
     .layouts = kImageLayouts,
     .tolerance = "transcendental",
     .alias = "out=X"},
    {.id = "gelu",
     .match = "Mul(Mul(X,Add(Erf([Div|Mul](X,S)),O)),H)",
     .where = "X: f32; value(O) == 1; value(H) == 0.5",
     .tolerance = "transcendental",
     .alias = "out=X"},
    {.id = "binary",
     .match = INLAY_ONEDNN_ACTIVATION "?([Add|Sub|Mul|Div|Max|Min](A,B))",
     .where = "A,B: f32",
     .tolerance = "transcendental"},
    {.id = "binary_image",
     .match = INLAY_ONEDNN_ACTIVATION "?([Add|Sub|Mul|Div|Max|Min](A,B))",
     .where = "A,B: f32[n,c,h,w] dynamic",
     .layouts = kImagePairLayouts,
     .tolerance = "transcendental",
     .alias = "out=A"},
    {.id = "scale_channels_image",
     .match = "[Add|Mul](A,B)",
     .where = "A: f32[n,c,h,w]; B: f32[n,c,1,1]; h*w > 1",
     .layouts = kImagePairLayouts,
     .tolerance = "elementwise"},

    // Movement
    {.id = "concat", .ops = "Concat", .where = "0,1: f32", .tolerance = "exact"},
    {.id = "concat2_image",
     .match = "Concat(A,B)",
     .where = "A: f32[n,a,h,w]; B: f32[n,b,h,w]; Concat.axis == 1; a%16 == 0; b%16 == 0",
     .layouts = kImagePairLayouts,
     .tolerance = "exact"},
    {.id = "transpose", .match = "Transpose(X)", .where = "X: f32", .tolerance = "exact"},
    {.id = "convert",
     .match = "inlay.Convert(X)",
     .where = "X: f32[n,c,h,w]",
     .layouts = kConvertLayouts,
     .tolerance = "exact"},
};

}  // namespace inlay::onednn

#undef INLAY_ONEDNN_ACTIVATION
