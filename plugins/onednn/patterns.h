// What the oneDNN plugin declares: operators that combine elements, and those of
// element_patterns.h.
#pragma once

#include <array>
#include <cstddef>

#include "core/sdk/pattern.h"
#include "plugins/onednn/element_patterns.h"
#include "plugins/onednn/pattern_parts.h"

namespace inlay::onednn {

inline constexpr sdk::Pattern kCombiningPatterns[] = {
    // Convolution
    {.id = "conv",
     .match = "[Conv|ConvTranspose](X,W,B?)",
     .fuse = kChain,
     .where = "X: f32[n,c,h,w]; W,B: f32 const; P: f32",
     .layouts = kConvLayouts},
    {.id = "conv_1d",
     .match = "[Conv|ConvTranspose](X,W,B?)",
     .fuse = kChain,
     .where = "X: f32[n,c,w]; W,B: f32 const; P: f32",
     .layouts = kConv1dLayouts},
    {.id = "conv_3d",
     .match = "[Conv|ConvTranspose](X,W,B?)",
     .fuse = kChain,
     .where = "X: f32[n,c,d,h,w]; W,B: f32 const; P: f32",
     .layouts = kConv3dLayouts},

    // Matrix products
    {.id = "gemm",
     .match = "Gemm(A,B,C?)",
     .fuse = kChain,
     .where = "A,B,C,P: f32; Gemm.alpha == 1; Gemm.beta == 1"},
    {.id = "matmul",
     .match = "MatMul(A,B)",
     .fuse = kChain,
     .where = "A,B,P: f32; rank(A) >= 2; rank(B) >= 2"},
    {.id = "matmul_transposed",
     .match = "MatMul(A,Transpose(B))",
     .fuse = kChain,
     .where = "A,B,P: f32; rank(A) >= 2; rank(B) >= 2"},
    {.id = "matmul_first_transposed",
     .match = "MatMul(Transpose(A),B)",
     .fuse = kChain,
     .where = "A,B,P: f32; rank(A) >= 2; rank(B) >= 2"},
    {.id = "matmul_itself",
     .match = "MatMul(A,Transpose?(A))",
     .fuse = kChain,
     .where = "A,P: f32; rank(A) >= 2"},
    {.id = "matmul_itself_first",
     .match = "MatMul(Transpose(A),A)",
     .fuse = kChain,
     .where = "A,P: f32; rank(A) >= 2"},
    {.id = "matmul_result_transposed",
     .match = "Transpose(MatMul(A,Transpose?(B)))",
     .where = "A,B: f32; rank(A) >= 3; rank(B) >= 2"},
    {.id = "matmul_both_transposed",
     .match = "MatMul(p=Transpose(A),q=Transpose(B))",
     .fuse = kChain,
     .where = "A,B,P: f32; rank(A) >= 2; rank(B) >= 2"},

    // Sums along constant edges
    {.id = "aggregate",
     .match = "ScatterElements(D,I,U)",
     .where = "D,U: f32[_,c]; I: i64|i32 const; ScatterElements.axis == 0; "
              "ScatterElements.reduction == \"add\""},
    {.id = "aggregate_edges",
     .match = "ScatterElements(D,I,Mul?(Gather(H,J),E))",
     .where = "D,H: f32[_,c]; E: f32 const; I,J: i64|i32 const; ScatterElements.axis == 0; "
              "ScatterElements.reduction == \"add\"; Gather.axis == 0"},
    {.id = "aggregate_graph",
     .match = "ScatterElements(o=Mul(H,N),I,m=Mul(Gather(H,J),E))",
     .where = "H: f32[_,c]; N,E: f32 const; I,J: i64|i32 const; ScatterElements.axis == 0; "
              "ScatterElements.reduction == \"add\"; Gather.axis == 0"},

    // X, W, R, B, lengths, h, c, peepholes: by number, since h and c may be one constant.
    {.id = "recurrent",
     .ops = "LSTM GRU RNN",
     .where = "0,5,6: f32; 1,2,3,7: f32 const; 4: i32 const"},

    // Windows
    {.id = "pool",
     .match = "[MaxPool|AveragePool|GlobalAveragePool|GlobalMaxPool](X)",
     .where = "X: f32"},
    {.id = "pool_image",
     .match = "[MaxPool|AveragePool|GlobalAveragePool|GlobalMaxPool](X)",
     .fuse = kChain,
     .where = "X: f32[n,c,h,w]; P: f32",
     .layouts = kImageChainLayouts},
    {.id = "pool_sequence",
     .match = "[MaxPool|AveragePool|GlobalAveragePool|GlobalMaxPool](X)",
     .where = "X: f32[n,c,w]",
     .layouts = kSequenceLayouts},
    {.id = "pool_volume",
     .match = "[MaxPool|AveragePool|GlobalAveragePool|GlobalMaxPool](X)",
     .where = "X: f32[n,c,d,h,w]",
     .layouts = kVolumeLayouts},
    {.id = "reduce",
     .ops = "ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare",
     .where = "0: f32"},
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
};

template <std::size_t kFirst, std::size_t kSecond>
consteval std::array<sdk::Pattern, kFirst + kSecond> joined(const sdk::Pattern (&first)[kFirst],
                                                            const sdk::Pattern (&second)[kSecond]) {
  std::array<sdk::Pattern, kFirst + kSecond> all{};
  std::size_t count = 0;
  for (const sdk::Pattern& pattern : first) all[count++] = pattern;
  for (const sdk::Pattern& pattern : second) all[count++] = pattern;
  return all;
}

inline constexpr auto kPatterns = joined(kCombiningPatterns, kElementPatterns);

}  // namespace inlay::onednn
