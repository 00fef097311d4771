#include "graphs/zoo/zoo.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "graphs/zoo/architectures.h"

namespace inlay {
namespace {

// The sizes that an architecture takes; zeros where it has no such size.
struct Sizes {
  int standard;
  int lowest;
  int highest;
};

constexpr Sizes kNone = {0, 0, 0};
constexpr Sizes kAnyImage = {224, 32, 8192};
constexpr Sizes kClip = {112, 32, 8192};
constexpr Sizes kVggImage = {224, 224, 255};      // five halvings must leave 7x7
constexpr Sizes kPatchedImage = {224, 224, 224};  // one position embedding per patch
constexpr Sizes kBertTokens = {128, 1, 512};
constexpr Sizes kSteps = {64, 1, 65536};
constexpr Sizes kGraph = {2708, 16, 16384};

struct Entry {
  Graph (*make)(const ZooOptions&);
  Sizes image;
  Sizes sequence;
  Sizes nodes = kNone;
};

// Figures of the vision models: torchvision's model pages, whose operation counts are
// multiply-adds.
constexpr ZooModel kModels[] = {
    {"resnet50", "residual network of bottleneck blocks, 1000 classes",
     "He et al., Deep Residual Learning for Image Recognition, CVPR 2016", 25557032, 2 * 4.09e9},
    {"resnext50_32x4d", "ResNet-50 with convolutions in 32 groups, 1000 classes",
     "Xie et al., Aggregated Residual Transformations for Deep Neural Networks, CVPR 2017",
     25028904, 2 * 4.23e9},
    {"resnet3d50", "ResNet-50 convolving clips of 8 frames in time too, 400 classes",
     "Hara et al., Can Spatiotemporal 3D CNNs Retrace the History of 2D CNNs, CVPR 2018; figures "
     "from the definition",
     47018576, 2 * 5.264e9},
    {"nasnet_mobile", "NASNet-A 4 @ 1056, cells found by search, 1000 classes",
     "Zoph et al., Learning Transferable Architectures for Scalable Image Recognition, CVPR 2018",
     5289978, 2 * 0.564e9},
    {"mobilenet_v2", "inverted residuals with depthwise convolutions, 1000 classes",
     "Sandler et al., MobileNetV2, CVPR 2018", 3504872, 2 * 0.30e9},
    {"efficientnet_b0", "depthwise blocks with squeeze-and-excitation, 1000 classes",
     "Tan and Le, EfficientNet, ICML 2019", 5288548, 2 * 0.386e9},
    {"vgg19", "plain stack of 3x3 convolutions, 1000 classes",
     "Simonyan and Zisserman, Very Deep Convolutional Networks, ICLR 2015", 143667240, 2 * 19.63e9},
    {"bert_base", "transformer encoder of 12 layers with pooler, 128 tokens",
     "Devlin et al., BERT, NAACL 2019; operations: Jiao et al., TinyBERT, EMNLP 2020", 109482240,
     22.5e9},
    {"vit_tiny16", "vision transformer on 16x16 patches, 1000 classes",
     "Touvron et al., Training Data-Efficient Image Transformers, ICML 2021", 5717416, 2 * 1.26e9},
    {"dcgan", "generator of 64x64 pictures from 100 numbers",
     "Radford et al., Unsupervised Representation Learning, ICLR 2016; figures: PyTorch's example",
     3576704, 2 * 0.1046e9},
    {"lstm", "two LSTM layers of 512 cells on 256 features, 64 steps",
     "Hochreiter and Schmidhuber, Long Short-Term Memory, 1997; figures from the definition",
     3678208, 2 * 0.2349e9},
    {"gcn_cora",
     "two graph convolutions on 2708 nodes and 10556 edges, adjacency as a dense matrix",
     "Kipf and Welling, Semi-Supervised Classification with Graph Convolutional Networks, ICLR "
     "2017; figures from the definition",
     23063, 2 * 0.23106e9, 2708 * 2708},
    {"gcn_cora_edges", "the same by gather and scatter along the edges",
     "Kipf and Welling, ICLR 2017; Fey and Lenssen, PyTorch Geometric, 2019; operations of the "
     "products alone",
     23063, 2 * 0.06239e9, 2708 + 10556},
};

constexpr Entry kEntries[] = {
    {make_resnet50, kAnyImage, kNone},
    {make_resnext50, kAnyImage, kNone},
    {make_resnet3d50, kClip, kNone},
    {make_nasnet_mobile, kAnyImage, kNone},
    {make_mobilenet_v2, kAnyImage, kNone},
    {make_efficientnet_b0, kAnyImage, kNone},
    {make_vgg19, kVggImage, kNone},
    {make_bert_base, kNone, kBertTokens},
    {make_vit_tiny16, kPatchedImage, kNone},
    {make_dcgan, kNone, kNone},
    {make_lstm, kNone, kSteps},
    {make_gcn_cora, kNone, kNone, kGraph},
    {make_gcn_cora_edges, kNone, kNone, kGraph},
};
static_assert(std::size(kModels) == std::size(kEntries));

int resolve(std::string_view model, const char* what, int asked, const Sizes& sizes) {
  if (asked == 0) return sizes.standard;
  if (sizes.standard == 0) {
    throw Error(Code::kInvalidArgument, fmt::format("{}: has no {}, {} given", model, what, asked));
  }
  if (asked < sizes.lowest || asked > sizes.highest) {
    throw Error(Code::kInvalidArgument, fmt::format("{}: {} must lie in {} to {}, is {}", model,
                                                    what, sizes.lowest, sizes.highest, asked));
  }
  return asked;
}

}  // namespace

std::span<const ZooModel> zoo_models() { return kModels; }

Graph build_zoo_model(std::string_view name, const ZooOptions& options) {
  const auto model = std::find_if(std::begin(kModels), std::end(kModels),
                                  [&](const ZooModel& m) { return m.name == name; });
  if (model == std::end(kModels)) {
    std::vector<std::string_view> names;
    for (const ZooModel& known : kModels) names.push_back(known.name);
    throw Error(Code::kNotFound,
                fmt::format("no model '{}' in the zoo; it has {}", name, fmt::join(names, ", ")));
  }
  if (options.batch < 1) {
    throw Error(Code::kInvalidArgument,
                fmt::format("{}: batch must be positive, is {}", name, options.batch));
  }
  const Entry& entry = kEntries[model - std::begin(kModels)];
  if (options.batch > 1 && entry.nodes.standard != 0) {
    throw Error(Code::kInvalidArgument,
                fmt::format("{}: has no batch, {} given", name, options.batch));
  }
  ZooOptions resolved = options;
  resolved.image_size = resolve(name, "image size", options.image_size, entry.image);
  resolved.sequence_length =
      resolve(name, "sequence length", options.sequence_length, entry.sequence);
  resolved.nodes = resolve(name, "nodes", options.nodes, entry.nodes);
  return entry.make(resolved);
}

}  // namespace inlay
