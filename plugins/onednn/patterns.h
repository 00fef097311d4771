// What the oneDNN plugin declares. One family of layouts is written out per rank and CPU:
// row-major, channels last, and channels in blocks as wide as a vector register.
#pragma once

#include "core/sdk/pattern.h"

// What follows inside a primitive, up to six links: P is a tensor of the output's size, a vector
// along its channels or columns, or one number.
#define INLAY_ONEDNN_CHAIN                                                                \
  "6: [Relu|LeakyRelu|Clip|Sigmoid|Tanh|HardSwish|HardSigmoid|Elu|Gelu|Swish|Mish](.); "  \
  "Mul(.,[Sigmoid|HardSigmoid](.)); [Add|Sub|Mul|Div|Max|Min|Pow](.,P); [Sub|Div](P,.); " \
  "PRelu(.,P)"

namespace inlay::onednn {

// From row-major to blocks is for a network's first layer. oneDNN has no kernel for the way back.
inline constexpr const char* kConvLayouts =
    "dense"
    "|X:acdb P:acdb out:acdb"
    "|X:aBcd16b P:aBcd16b out:aBcd16b @avx512f"
    "|X:abcd P:aBcd16b out:aBcd16b @avx512f"
    "|X:aBcd8b P:aBcd8b out:aBcd8b @avx2 @!avx512f"
    "|X:abcd P:aBcd8b out:aBcd8b @avx2 @!avx512f";

inline constexpr const char* kConv1dLayouts =
    "dense"
    "|X:acb P:acb out:acb"
    "|X:aBc16b P:aBc16b out:aBc16b @avx512f"
    "|X:abc P:aBc16b out:aBc16b @avx512f"
    "|X:aBc8b P:aBc8b out:aBc8b @avx2 @!avx512f"
    "|X:abc P:aBc8b out:aBc8b @avx2 @!avx512f";

inline constexpr const char* kConv3dLayouts =
    "dense"
    "|X:acdeb P:acdeb out:acdeb"
    "|X:aBcde16b P:aBcde16b out:aBcde16b @avx512f"
    "|X:abcde P:aBcde16b out:aBcde16b @avx512f"
    "|X:aBcde8b P:aBcde8b out:aBcde8b @avx2 @!avx512f"
    "|X:abcde P:aBcde8b out:aBcde8b @avx2 @!avx512f";

// One operand of rank 4, 3 or 5 beside row-major.
inline constexpr const char* kImageLayouts =
    "X:acdb out:acdb"
    "|X:aBcd16b out:aBcd16b @avx512f"
    "|X:aBcd8b out:aBcd8b @avx2 @!avx512f";

inline constexpr const char* kSequenceLayouts =
    "X:acb out:acb"
    "|X:aBc16b out:aBc16b @avx512f"
    "|X:aBc8b out:aBc8b @avx2 @!avx512f";

inline constexpr const char* kVolumeLayouts =
    "X:acdeb out:acdeb"
    "|X:aBcde16b out:aBcde16b @avx512f"
    "|X:aBcde8b out:aBcde8b @avx2 @!avx512f";

inline constexpr const char* kImagePairLayouts =
    "A:acdb B:acdb P:acdb out:acdb"
    "|A:aBcd16b B:aBcd16b P:aBcd16b out:aBcd16b @avx512f"
    "|A:aBcd8b B:aBcd8b P:aBcd8b out:aBcd8b @avx2 @!avx512f";

inline constexpr const char* kVolumePairLayouts =
    "A:acdeb B:acdeb P:acdeb out:acdeb"
    "|A:aBcde16b B:aBcde16b P:aBcde16b out:aBcde16b @avx512f"
    "|A:aBcde8b B:aBcde8b P:aBcde8b out:aBcde8b @avx2 @!avx512f";

inline constexpr const char* kConcatLayouts =
    "0:acdb 1:acdb 2:acdb 3:acdb 4:acdb 5:acdb 6:acdb 7:acdb out:acdb";

inline constexpr const char* kConcatBlockLayouts =
    "0:aBcd16b 1:aBcd16b 2:aBcd16b 3:aBcd16b 4:aBcd16b 5:aBcd16b 6:aBcd16b 7:aBcd16b "
    "out:aBcd16b @avx512f"
    "|0:aBcd8b 1:aBcd8b 2:aBcd8b 3:aBcd8b 4:aBcd8b 5:aBcd8b 6:aBcd8b 7:aBcd8b "
    "out:aBcd8b @avx2 @!avx512f";

inline constexpr const char* kConvertLayouts =
    "X:abcd out:acdb|X:acdb out:abcd"
    "|X:abcd out:aBcd16b @avx512f|X:aBcd16b out:abcd @avx512f"
    "|X:acdb out:aBcd16b @avx512f|X:aBcd16b out:acdb @avx512f"
    "|X:abcd out:aBcd8b @avx2 @!avx512f|X:aBcd8b out:abcd @avx2 @!avx512f"
    "|X:acdb out:aBcd8b @avx2 @!avx512f|X:aBcd8b out:acdb @avx2 @!avx512f"
    "|X:abc out:acb|X:acb out:abc"
    "|X:abc out:aBc16b @avx512f|X:aBc16b out:abc @avx512f"
    "|X:acb out:aBc16b @avx512f|X:aBc16b out:acb @avx512f"
    "|X:abc out:aBc8b @avx2 @!avx512f|X:aBc8b out:abc @avx2 @!avx512f"
    "|X:acb out:aBc8b @avx2 @!avx512f|X:aBc8b out:acb @avx2 @!avx512f"
    "|X:abcde out:acdeb|X:acdeb out:abcde"
    "|X:abcde out:aBcde16b @avx512f|X:aBcde16b out:abcde @avx512f"
    "|X:acdeb out:aBcde16b @avx512f|X:aBcde16b out:acdeb @avx512f"
    "|X:abcde out:aBcde8b @avx2 @!avx512f|X:aBcde8b out:abcde @avx2 @!avx512f"
    "|X:acdeb out:aBcde8b @avx2 @!avx512f|X:aBcde8b out:acdeb @avx2 @!avx512f";

inline constexpr sdk::Pattern kPatterns[] = {
    // Convolution
    {.id = "conv",
     .match = "[Conv|ConvTranspose](X,W,B?)",
     .fuse = INLAY_ONEDNN_CHAIN,
     .where = "X: f32[n,c,h,w]; W,B: f32 const; P: f32",
     .layouts = kConvLayouts},
    {.id = "conv_1d",
     .match = "[Conv|ConvTranspose](X,W,B?)",
     .fuse = INLAY_ONEDNN_CHAIN,
     .where = "X: f32[n,c,w]; W,B: f32 const; P: f32",
     .layouts = kConv1dLayouts},
    {.id = "conv_3d",
     .match = "[Conv|ConvTranspose](X,W,B?)",
     .fuse = INLAY_ONEDNN_CHAIN,
     .where = "X: f32[n,c,d,h,w]; W,B: f32 const; P: f32",
     .layouts = kConv3dLayouts},

    // Matrix products
    {.id = "gemm",
     .match = "Gemm(A,B,C?)",
     .fuse = INLAY_ONEDNN_CHAIN,
     .where = "A,B,C,P: f32; Gemm.alpha == 1; Gemm.beta == 1"},
    {.id = "matmul",
     .match = "MatMul(A,B)",
     .fuse = INLAY_ONEDNN_CHAIN,
     .where = "A,B,P: f32; rank(A) >= 2; rank(B) >= 2"},
    {.id = "matmul_transposed",
     .match = "MatMul(A,Transpose(B))",
     .fuse = INLAY_ONEDNN_CHAIN,
     .where = "A,B,P: f32; rank(A) >= 2; rank(B) >= 2"},
    {.id = "matmul_first_transposed",
     .match = "MatMul(Transpose(A),B)",
     .fuse = INLAY_ONEDNN_CHAIN,
     .where = "A,B,P: f32; rank(A) >= 2; rank(B) >= 2"},
    {.id = "matmul_both_transposed",
     .match = "MatMul(p=Transpose(A),q=Transpose(B))",
     .fuse = INLAY_ONEDNN_CHAIN,
     .where = "A,B,P: f32; rank(A) >= 2; rank(B) >= 2"},

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
    {.id = "pool_sequence",
     .match = "[MaxPool|AveragePool|GlobalAveragePool|GlobalMaxPool](X)",
     .where = "X: f32[n,c,w]",
     .layouts = kSequenceLayouts},
    {.id = "pool_volume",
     .match = "[MaxPool|AveragePool|GlobalAveragePool|GlobalMaxPool](X)",
     .where = "X: f32[n,c,d,h,w]",
     .layouts = kVolumeLayouts},
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
    {.id = "instance_normalization",
     .match = "InstanceNormalization(X,S,B)",
     .where = "X: f32; S,B: f32 const"},
    {.id = "lrn",
     .match = "LRN(X)",
     .where = "X: f32[n,c,h,w]",
     .layouts = "dense|X:acdb out:acdb|X:aBcd16b out:aBcd16b @avx512f"
                "|X:aBcd8b out:aBcd8b @avx2 @!avx512f"},

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
    {.id = "clip_volume",
     .match = "[Relu|Clip](X)",
     .where = "X: f32[n,c,d,h,w]",
     .layouts = kVolumeLayouts,
     .tolerance = "exact",
     .alias = "out=X"},
    {.id = "unary_arithmetic",
     .match = "[LeakyRelu|Abs|Neg|Sqrt|Round|Reciprocal](X)",
     .where = "X: f32",
     .tolerance = "elementwise",
     .alias = "out=X"},
    {.id = "unary_square",
     .match = "Mul(X,X)",
     .where = "X: f32",
     .tolerance = "elementwise",
     .alias = "out=X"},
    {.id = "unary_power",
     .match = "Pow(X,E)",
     .where = "X: f32; E: f32 const",
     .tolerance = "transcendental",
     .alias = "out=X"},
    {.id = "prelu", .match = "PRelu(X,S)", .where = "X,S: f32", .tolerance = "elementwise"},
    {.id = "prelu_image",
     .match = "PRelu(X,S)",
     .where = "X: f32[n,c,h,w]; S: f32 const",
     .layouts = kImageLayouts,
     .tolerance = "elementwise"},
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
     .match = "[Add|Sub|Mul|Div|Max|Min](A,B)",
     .fuse = INLAY_ONEDNN_CHAIN,
     .where = "A,B,P: f32",
     .tolerance = "transcendental"},
    {.id = "binary_image",
     .match = "[Add|Sub|Mul|Div|Max|Min](A,B)",
     .fuse = INLAY_ONEDNN_CHAIN,
     .where = "A,B: f32[n,c,h,w] dynamic; P: f32",
     .layouts = kImagePairLayouts,
     .tolerance = "transcendental",
     .alias = "out=A"},
    {.id = "binary_volume",
     .match = "[Add|Sub|Mul|Div|Max|Min](A,B)",
     .fuse = INLAY_ONEDNN_CHAIN,
     .where = "A,B: f32[n,c,d,h,w] dynamic; P: f32",
     .layouts = kVolumePairLayouts,
     .tolerance = "transcendental",
     .alias = "out=A"},
    {.id = "scale_channels_image",
     .match = "[Add|Mul](A,B)",
     .fuse = INLAY_ONEDNN_CHAIN,
     .where = "A: f32[n,c,h,w]; B: f32[_,c,1,1]; h*w > 1; P: f32",
     .layouts = kImagePairLayouts,
     .tolerance = "elementwise"},

    // Movement
    {.id = "concat", .ops = "Concat", .where = "0,1: f32", .tolerance = "exact"},
    {.id = "concat_image",
     .ops = "Concat",
     .where = "0: f32[n,_,h,w]; 1: f32; Concat.axis == 1",
     .layouts = kConcatLayouts,
     .tolerance = "exact"},
    {.id = "concat_image_blocks",
     .ops = "Concat",
     .where = "0: f32[n,a,h,w]; 1: f32[n,b,h,w]; 2: f32[n,c,h,w]; 3: f32[n,d,h,w]; "
              "4: f32[n,e,h,w]; 5: f32[n,f,h,w]; 6: f32[n,g,h,w]; 7: f32[n,i,h,w]; "
              "Concat.axis == 1; a%16 == 0; b%16 == 0; c%16 == 0; d%16 == 0; e%16 == 0; "
              "f%16 == 0; g%16 == 0; i%16 == 0",
     .layouts = kConcatBlockLayouts,
     .tolerance = "exact"},
    {.id = "transpose",
     .match = "Transpose(X)",
     .where = "X: f32|i32|u8|i8|bool",
     .tolerance = "exact"},
    {.id = "slice", .match = "Slice(X)", .where = "X: f32|i32|u8|i8|bool", .tolerance = "exact"},
    {.id = "slice_image",
     .match = "Slice(X)",
     .where = "X: f32[n,c,h,w]",
     .layouts = "X:acdb out:acdb|X:abcd out:acdb|X:acdb out:abcd",
     .tolerance = "exact"},
    {.id = "split", .ops = "Split", .where = "0: f32|i32|u8|i8|bool", .tolerance = "exact"},
    {.id = "gather",
     .match = "Gather(X,I)",
     .where = "X: f32|i32|u8|i8|bool; I: i64|i32 const",
     .tolerance = "exact"},
    {.id = "pad", .ops = "Pad", .where = "0: f32", .tolerance = "exact"},
    {.id = "pad_image",
     .match = "Pad(X)",
     .where = "X: f32[n,c,h,w]",
     .layouts = "X:acdb out:acdb|X:abcd out:acdb",
     .tolerance = "exact"},
    {.id = "cast",
     .match = "Cast(X)",
     .where = "X: i32|u8|i8|bool; Cast.to == 1",
     .tolerance = "exact"},
    {.id = "convert",
     .match = "inlay.Convert(X)",
     .where = "X: f32",
     .layouts = kConvertLayouts,
     .tolerance = "exact"},
};

}  // namespace inlay::onednn

#undef INLAY_ONEDNN_CHAIN
