// 2-D convolution as matrix products. Pointwise ones are products as they stand; others gather the
// input's windows into a matrix, a tile of output pixels at a time (im2col; Chellapilla, Puri,
// Simard: High Performance Convolutional Neural Networks for Document Processing, 2006).

#include <algorithm>
#include <cstring>

#include "plugins/openblas/compile.h"
#include "plugins/openblas/stack.h"

namespace inlay::openblas {

namespace {

struct Geometry {
  std::int64_t images, channels, height, width;
  std::int64_t out_channels, out_height, out_width;
  std::int64_t kernel_height, kernel_width;
  std::int64_t stride_y, stride_x, dilation_y, dilation_x, pad_y, pad_x;
  bool is_pointwise;  // kernel 1, stride 1, no padding
  bool is_channels_last;

  std::int64_t pixels() const { return out_height * out_width; }
  std::int64_t window() const { return channels * kernel_height * kernel_width; }
};

Geometry read_geometry(const sdk::RegionView& region) {
  const sdk::NodeView node = region.node(0);
  const sdk::ValueView x = region.value(node.input(0)), w = region.value(node.input(1));
  const sdk::ValueView y = region.output(0);
  const auto strides = node.get_ints("strides"), dilations = node.get_ints("dilations"),
             pads = node.get_ints("pads");
  if (strides.size() != 2 || dilations.size() != 2 || pads.size() != 4) {
    throw sdk::Decline("Conv: not two spatial dimensions");
  }
  if (node.get_int("group", 1) != 1) throw sdk::Decline("Conv: groups are not offered");
  const bool is_pointwise =
      w.dim(2) == 1 && w.dim(3) == 1 && strides[0] == 1 && strides[1] == 1 &&
      std::all_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad == 0; });
  return {x.dim(0),
          x.dim(1),
          x.dim(2),
          x.dim(3),
          w.dim(0),
          y.dim(2),
          y.dim(3),
          w.dim(2),
          w.dim(3),
          strides[0],
          strides[1],
          dilations[0],
          dilations[1],
          pads[0],
          pads[1],
          is_pointwise,
          x.layout() == "acdb"};
}

// Bias and whatever follows the Conv, over matrices [O, pixels] per image, or with channels last
// one [pixels, O].
Epilogue make_epilogue(const sdk::RegionView& region, const Geometry& g) {
  Epilogue epilogue;
  const sdk::NodeView node = region.node(0);
  const sdk::ValueView y = region.output(0);
  if (node.input(2) >= 0) {
    const Operand bias = locate(region, region.value(node.input(2)));
    epilogue.add({bias, 1, g.is_channels_last ? Placing{0, 1} : Placing{1, 0}});
  }
  epilogue.read(region, 0, [&](const sdk::ValueView& value) {
    if (!std::equal(value.dims().begin(), value.dims().end(), y.dims().begin(), y.dims().end()) ||
        value.layout() != y.layout()) {
      throw sdk::Decline("Conv: the added tensor is not laid out as the result");
    }
    if (g.is_channels_last) return Placing{g.out_channels, 1};
    Placing placing{g.pixels(), 1};
    for (std::int64_t i = 0; i < g.images; ++i) {
      placing.matrices.push_back(i * g.out_channels * g.pixels());
    }
    return placing;
  });
  return epilogue;
}

std::unique_ptr<sdk::Kernel> compile_pointwise(const sdk::RegionView& region, const Geometry& g) {
  StackKernel::Data data;
  const Operand x = locate(region, region.value(region.node(0).input(0)));
  const Operand w = locate(region, region.value(region.node(0).input(1)));
  const std::int64_t pixels = g.pixels();
  if (g.is_channels_last) {
    data.gemm = {.m = g.images * pixels,
                 .n = g.out_channels,
                 .k = g.channels,
                 .lda = g.channels,
                 .ldb = g.channels,
                 .ldc = g.out_channels,
                 .transposes_b = true};
    data.a = x;
    data.b = w;
    data.a_offsets = data.b_offsets = {0};
  } else {
    data.gemm = {.m = g.out_channels,
                 .n = pixels,
                 .k = g.channels,
                 .lda = g.channels,
                 .ldb = pixels,
                 .ldc = pixels};
    data.a = w;
    data.b = x;
    for (std::int64_t i = 0; i < g.images; ++i) {
      data.a_offsets.push_back(0);
      data.b_offsets.push_back(i * g.channels * pixels);
    }
  }
  data.epilogue = make_epilogue(region, g);
  return std::make_unique<StackKernel>(std::move(data));
}

// Output columns [first, last) of one row for which input column x*stride - pad + offset is inside
// [0, width).
struct Inside {
  std::int64_t first, last;
};

Inside inside(std::int64_t begin, std::int64_t end, std::int64_t stride, std::int64_t shift,
              std::int64_t width) {
  // x * stride + shift >= 0, and < width
  const std::int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const std::int64_t last = width > shift ? (width - shift + stride - 1) / stride : 0;
  const std::int64_t from = std::clamp(first, begin, end);
  return {from, std::clamp(last, from, end)};
}

// Calls piece(row, begin, end, at) for each stretch of output pixels [pixel_begin, pixel_end)
// within one output row; `at` is the stretch's place in the tile.
template <typename Piece>
void each_row(const Geometry& g, std::int64_t pixel_begin, std::int64_t pixel_end,
              const Piece& piece) {
  for (std::int64_t pixel = pixel_begin; pixel < pixel_end;) {
    const std::int64_t row = pixel / g.out_width, begin = pixel % g.out_width;
    const std::int64_t end = std::min(g.out_width, begin + pixel_end - pixel);
    piece(row, begin, end, pixel - pixel_begin);
    pixel += end - begin;
  }
}

// Row-major image [C, H, W] to columns [C*kh*kw, tile].
void gather_columns(const Geometry& g, const float* image, std::int64_t pixel_begin,
                    std::int64_t pixel_end, float* tile) {
  const std::int64_t pixels = pixel_end - pixel_begin;
  for (std::int64_t c = 0; c < g.channels; ++c) {
    for (std::int64_t i = 0; i < g.kernel_height; ++i) {
      for (std::int64_t j = 0; j < g.kernel_width; ++j, tile += pixels) {
        const std::int64_t shift = j * g.dilation_x - g.pad_x;
        each_row(g, pixel_begin, pixel_end,
                 [&](std::int64_t y, std::int64_t begin, std::int64_t end, std::int64_t at) {
                   float* target = tile + at - begin;  // indexed by output column
                   const std::int64_t row = y * g.stride_y + i * g.dilation_y - g.pad_y;
                   const bool is_inside = row >= 0 && row < g.height;
                   const Inside in = is_inside ? inside(begin, end, g.stride_x, shift, g.width)
                                               : Inside{end, end};
                   std::fill(target + begin, target + in.first, 0.f);
                   const float* source = image + (c * g.height + row) * g.width + shift;
                   if (g.stride_x == 1) {
                     std::copy(source + in.first, source + in.last, target + in.first);
                   } else {
                     for (std::int64_t x = in.first; x < in.last; ++x)
                       target[x] = source[x * g.stride_x];
                   }
                   std::fill(target + in.last, target + end, 0.f);
                 });
      }
    }
  }
}

// Channels-last image [H, W, C] to rows [tile, kh*kw*C].
void gather_rows(const Geometry& g, const float* image, std::int64_t pixel_begin,
                 std::int64_t pixel_end, float* tile) {
  for (std::int64_t pixel = pixel_begin; pixel < pixel_end; ++pixel) {
    const std::int64_t y = pixel / g.out_width, x = pixel % g.out_width;
    for (std::int64_t i = 0; i < g.kernel_height; ++i) {
      const std::int64_t row = y * g.stride_y + i * g.dilation_y - g.pad_y;
      for (std::int64_t j = 0; j < g.kernel_width; ++j, tile += g.channels) {
        const std::int64_t column = x * g.stride_x + j * g.dilation_x - g.pad_x;
        if (row < 0 || row >= g.height || column < 0 || column >= g.width) {
          std::fill(tile, tile + g.channels, 0.f);
        } else {
          const float* source = image + (row * g.width + column) * g.channels;
          std::copy(source, source + g.channels, tile);
        }
      }
    }
  }
}

class GatherKernel : public sdk::Kernel {
 public:
  GatherKernel(const Geometry& geometry, Operand x, Operand weights, std::vector<float> packed,
               Epilogue epilogue, int thread_cap)
      : g_(geometry),
        x_(x),
        weights_(weights),
        packed_(std::move(packed)),
        epilogue_(std::move(epilogue)),
        slots_(std::max(thread_cap, 1)) {
    // A tile of a megabyte stays in a second-level cache; fewer than 64 pixels would spend the time
    // on packing weights.
    constexpr std::int64_t kTileElements = 1 << 18, kMinPixels = 64, kUnit = 16;
    const std::int64_t most = std::max(kMinPixels, kTileElements / g_.window());
    std::int64_t tiles = (g_.pixels() + most - 1) / most;
    if (g_.images % slots_ != 0) tiles = (tiles + slots_ - 1) / slots_ * slots_;
    tile_pixels_ = ((g_.pixels() + tiles - 1) / tiles + kUnit - 1) / kUnit * kUnit;
    tiles_ = (g_.pixels() + tile_pixels_ - 1) / tile_pixels_;
  }

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(slots_ * slot_elements()) * sizeof(float);
  }
  bool retains_constants() const override { return true; }

  void run(std::span<const sdk::TensorView> inputs, std::span<const sdk::TensorView> outputs,
           const sdk::RunContext& context) const override {
    const std::int64_t total = g_.images * tiles_;
    context.host.parallel_for(slots_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t slot = begin; slot < end; ++slot) {
        float* tile = static_cast<float*>(context.workspace) + slot * slot_elements();
        for (std::int64_t i = total * slot / slots_; i < total * (slot + 1) / slots_; ++i) {
          run_tile(inputs, outputs[0].as<float>(), i / tiles_, i % tiles_, tile);
        }
      }
    });
  }

 private:
  std::int64_t slot_elements() const { return (g_.window() * tile_pixels_ + 15) / 16 * 16; }

  void run_tile(std::span<const sdk::TensorView> inputs, float* y, std::int64_t image,
                std::int64_t index, float* tile) const {
    const std::int64_t begin = index * tile_pixels_,
                       end = std::min(g_.pixels(), begin + tile_pixels_);
    const std::int64_t pixels = end - begin, outs = g_.out_channels, window = g_.window();
    const float* source = x_.data(inputs) + image * g_.channels * g_.height * g_.width;
    float* target = y + image * outs * g_.pixels();
    if (g_.is_channels_last) {
      gather_rows(g_, source, begin, end, tile);
      const Gemm gemm{.m = pixels,
                      .n = outs,
                      .k = window,
                      .lda = window,
                      .ldb = window,
                      .ldc = outs,
                      .transposes_b = true};
      gemm.run_block(tile, packed_.data(), target + begin * outs, {0, pixels, 0, outs});
      const std::int64_t first = image * g_.pixels() + begin;
      epilogue_.apply({first, first + pixels, 0, outs}, y, outs, inputs, 0);
    } else {
      gather_columns(g_, source, begin, end, tile);
      const Gemm gemm{
          .m = outs, .n = pixels, .k = window, .lda = window, .ldb = pixels, .ldc = g_.pixels()};
      gemm.run_block(weights_.data(inputs), tile, target + begin, {0, outs, 0, pixels});
      epilogue_.apply({0, outs, begin, end}, target, g_.pixels(), inputs, image);
    }
  }

  Geometry g_;
  Operand x_, weights_;
  std::vector<float> packed_;  // channels last only: weights as [O, kh, kw, C]
  Epilogue epilogue_;
  std::int64_t slots_;
  std::int64_t tile_pixels_ = 0;
  std::int64_t tiles_ = 0;
};

std::vector<float> pack_channels_last(const Geometry& g, std::span<const float> weights) {
  std::vector<float> packed(weights.size());
  const std::int64_t taps = g.kernel_height * g.kernel_width;
  for (std::int64_t o = 0; o < g.out_channels; ++o) {
    for (std::int64_t c = 0; c < g.channels; ++c) {
      for (std::int64_t t = 0; t < taps; ++t) {
        packed[static_cast<std::size_t>((o * taps + t) * g.channels + c)] =
            weights[static_cast<std::size_t>((o * g.channels + c) * taps + t)];
      }
    }
  }
  return packed;
}

}  // namespace

std::unique_ptr<sdk::Kernel> compile_convolution(const sdk::RegionView& region, int thread_cap) {
  const Geometry g = read_geometry(region);
  if (g.is_pointwise) return compile_pointwise(region, g);
  const sdk::ValueView weights = region.value(region.node(0).input(1));
  std::vector<float> packed;
  if (g.is_channels_last) packed = pack_channels_last(g, weights.constant_as<float>());
  return std::make_unique<GatherKernel>(g, locate(region, region.value(region.node(0).input(0))),
                                        locate(region, weights), std::move(packed),
                                        make_epilogue(region, g), thread_cap);
}

}  // namespace inlay::openblas
