// The networks of the zoo, one function each; zoo.cpp lists them with their published figures.
// Sizes in the options are checked and filled in by then.
#pragma once

#include "graphs/zoo/zoo.h"

namespace inlay {

Graph make_resnet50(const ZooOptions& options);
Graph make_resnext50(const ZooOptions& options);
Graph make_resnet3d50(const ZooOptions& options);
Graph make_nasnet_mobile(const ZooOptions& options);
Graph make_mobilenet_v2(const ZooOptions& options);
Graph make_efficientnet_b0(const ZooOptions& options);
Graph make_vgg19(const ZooOptions& options);
Graph make_bert_base(const ZooOptions& options);
Graph make_vit_tiny16(const ZooOptions& options);
Graph make_dcgan(const ZooOptions& options);
Graph make_lstm(const ZooOptions& options);
Graph make_gcn_cora(const ZooOptions& options);
Graph make_gcn_cora_edges(const ZooOptions& options);

}  // namespace inlay
