// What the patterns of the oneDNN plugin share: the chains behind a primitive, and layouts, written
// out per rank and CPU: row-major, channels last, and channels in blocks as wide as a vector
// register.
#pragma once

namespace inlay::onednn {

// What follows inside a primitive. P: a tensor of the output's size, a vector, or one number.
inline constexpr const char* kChain =
    "6: [Relu|LeakyRelu|Clip|Sigmoid|Tanh|HardSwish|HardSigmoid|Elu|Gelu|Swish|Mish](.); "
    "Mul(.,[Sigmoid|HardSigmoid](.)); [Add|Sub|Mul|Div|Max|Min|Pow](.,P); [Sub|Div](P,.); "
    "[Add|Mul](.,.); PRelu(.,P)";

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

inline constexpr const char* kImageChainLayouts =
    "X:acdb P:acdb out:acdb"
    "|X:aBcd16b P:aBcd16b out:aBcd16b @avx512f"
    "|X:aBcd8b P:aBcd8b out:aBcd8b @avx2 @!avx512f";

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

}  // namespace inlay::onednn
