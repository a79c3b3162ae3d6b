// SPDX-License-Identifier: Apache-2.0
// Convolutions and what follows them, pools, sizes of images. The official runtime computes them on textures, a texel for four
// channels.
#include <cmath>
#include <limits>

#include "plugins/gpu/official/write/region_writer.hpp"

namespace etb::gpu {

namespace {

// ---- Convolutions

// Stride, padding, dilation, flag and groups in the order of the schema.
Result<std::vector<uint32_t>> convolution_numbers(NodeWriter& node, size_t dims) {
  const Arguments& args = node.args();
  std::vector<uint32_t> out;
  const auto add = [&](const char* name, int64_t missing) -> Status {
    ETB_ASSIGN(std::vector<int64_t> numbers, args.integers(name));
    if (numbers.empty()) numbers = {missing};
    if (numbers.size() == 1) numbers.resize(dims, numbers[0]);
    if (numbers.size() != dims)
      return reject("attribute", std::string(name) + ": expected a number a dimension");
    out.push_back(node.file().add_integers(std::move(numbers)));
    return {};
  };
  ETB_TRY(add("stride", 1));
  ETB_TRY(add("padding", 0));
  ETB_TRY(add("dilation", 1));
  ETB_ASSIGN(const bool is_transposed, args.flag("transposed", false));
  out.push_back(node.file().add_truth(is_transposed));
  ETB_TRY(add("output_padding", 0));
  ETB_ASSIGN(const int64_t groups, args.integer("groups", 1));
  out.push_back(node.file().add_integer(groups));
  return out;
}

// The official shaders of grouped convolutions read whole texels of channels; those of single pixels know no groups. Of
// depthwise ones only two are right: the general one has other numbers for 7 x 7 pixels, and lacks most strides.
Status check_groups(const Shape& filters, uint32_t groups) {
  const uint32_t height = filters.sizes[2], width = filters.sizes[3];
  if (filters.sizes[0] == groups && filters.sizes[1] == 1 && groups != 1) {
    if (height == width && (height == 3 || height == 5)) return {};
    return reject("attribute", "a depthwise convolution, expected filters of 3 x 3 or 5 x 5");
  }
  if (groups == 1) return {};
  if (filters.sizes[1] % 4 != 0 || filters.sizes[0] / groups % 4 != 0)
    return reject("attribute", "groups whose channels are no multiple of 4");
  if (height == 1 && width == 1) return reject("attribute", "groups of a convolution of single pixels");
  return {};
}

Status check_convolution(const NodeWriter& node, uint32_t x, uint32_t weight,
                         const WrittenConvolution& made) {
  const Shape &in = node.shape(x), &filters = node.shape(weight);
  if (in.rank != 3 && in.rank != 4) return reject("rank", "input, expected rank 3 or 4");
  if (filters.rank != in.rank) return reject("rank", "weight, expected the rank of the input");
  if (!node.is_constant(weight)) return reject("attribute", "weight: computed, expected a constant");
  if (in.rank == 4 && in.sizes[0] != 1) return reject("attribute", "input: a batch of more than 1");
  if (made.is_transposed && in.rank == 3) return reject("rank", "input: transposed, expected rank 4");
  if (made.is_transposed && made.groups != 1)
    return reject("attribute", "groups: " + std::to_string(made.groups) + " of a transposed convolution");
  ETB_ASSIGN(const std::vector<int64_t> dilation, node.args().integers("dilation"));
  for (const int64_t number : dilation)
    if (made.is_transposed && number != 1) return reject("attribute", "dilation of a transposed convolution");
  if (in.rank == 4) ETB_TRY(check_groups(filters, made.groups));
  ETB_ASSIGN(const Shape out, node.result_shape());
  if (!fits_texture(in) || !fits_texture(out)) return reject("attribute", "more pixels than a texture has");
  return {};
}

Status write_convolution(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("input"));
  WrittenConvolution made;
  ETB_ASSIGN(made.weight, node.floats("weight"));
  ETB_ASSIGN(made.is_transposed, node.args().flag("transposed", false));
  ETB_ASSIGN(const int64_t groups, node.args().integer("groups", 1));
  made.groups = static_cast<uint32_t>(groups);
  if (groups < 1 || groups > INT32_MAX) return reject("attribute", "groups: " + std::to_string(groups));
  ETB_TRY(check_convolution(node, x, made.weight, made));
  ETB_ASSIGN(const Shape out, node.result_shape());
  if (node.args().has("bias")) {
    ETB_ASSIGN(made.bias, node.floats("bias"));
    if (!node.is_constant(made.bias)) return reject("attribute", "bias: computed, expected a constant");
  } else {
    made.bias = node.add_constant(std::vector<float>(out.sizes[1], 0), {1, {out.sizes[1]}});
  }
  ETB_ASSIGN(const std::vector<uint32_t> numbers, convolution_numbers(node, out.rank - 2));
  std::vector<uint32_t> arguments = {node.in(x, kChannelTexture), node.stored(made.weight),
                                     node.stored(made.bias)};
  arguments.insert(arguments.end(), numbers.begin(), numbers.end());
  const uint32_t result = node.call("aten.convolution.default", std::move(arguments), out, kChannelTexture);
  node.set_convolution(result, made);
  return node.define(result);
}

// ---- Batch norms

struct Affine {
  std::vector<float> scale, shift;  // by channel
};

Result<Affine> read_batch_norm(NodeWriter& node, uint32_t channels) {
  const auto read = [&](const char* name, float missing) -> Result<std::vector<float>> {
    if (!node.args().has(name)) return std::vector<float>(channels, missing);
    ETB_ASSIGN(const uint32_t id, node.floats(name));
    if (!node.is_constant(id))
      return reject("attribute", std::string(name) + ": computed, expected a constant");
    if (node.shape(id).numel() != channels)
      return reject("attribute", std::string(name) + ": expected a number a channel");
    return node.constant_floats(id);
  };
  ETB_ASSIGN(const std::vector<float> weight, read("weight", 1));
  ETB_ASSIGN(const std::vector<float> bias, read("bias", 0));
  ETB_ASSIGN(const std::vector<float> mean, read("running_mean", 0));
  ETB_ASSIGN(const std::vector<float> variance, read("running_var", 1));
  ETB_ASSIGN(const double eps, node.args().number("eps", 1e-5));
  Affine out;
  for (uint32_t c = 0; c < channels; ++c) {
    const double scale = weight[c] / std::sqrt(double{variance[c]} + eps);
    out.scale.push_back(static_cast<float>(scale));
    out.shift.push_back(static_cast<float>(bias[c] - mean[c] * scale));
  }
  return out;
}

// The filters of each output channel are scaled. Those of a transposed convolution are [in, out, ...], of one group.
Result<uint32_t> fold(NodeWriter& node, const WrittenConvolution& convolution, const Affine& affine) {
  const Shape filters = node.shape(convolution.weight);
  const size_t area = filters.product(2, filters.rank), second = filters.sizes[1];
  const size_t run = convolution.is_transposed ? area : area * second, count = affine.scale.size();
  ETB_ASSIGN(const uint32_t weight, node.add_changed_constant(convolution.weight, [&](std::span<float> all) {
    for (size_t i = 0; (i + 1) * run <= all.size(); ++i)
      for (float& number : all.subspan(i * run, run)) number *= affine.scale[i % count];
  }));
  ETB_ASSIGN(const uint32_t bias, node.add_changed_constant(convolution.bias, [&](std::span<float> all) {
    for (size_t c = 0; c < all.size(); ++c) all[c] = all[c] * affine.scale[c] + affine.shift[c];
  }));
  return node.set_weights("input", weight, bias);
}

// A part of the convolution before it, or a product and a sum.
Status write_batch_norm(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("input"));
  const Shape shape = node.shape(x);
  if (shape.rank < 2 || shape.rank > 4) return reject("rank", "input, expected rank 2 to 4");
  for (uint32_t i = 1; i < node.result_count(); ++i)
    if (node.is_result_read(i)) return reject("attribute", "means of a batch that a node reads");
  ETB_ASSIGN(const Affine affine, read_batch_norm(node, shape.sizes[1]));
  const auto convolution = node.own_convolution("input");
  if (convolution && !convolution->is_clamped) {
    ETB_ASSIGN(const uint32_t folded, fold(node, *convolution, affine));
    return node.define(folded);
  }
  Shape channels = shape;
  for (uint32_t d = 0; d < shape.rank; ++d) channels.sizes[d] = d == 1 ? shape.sizes[1] : 1;
  const Storage storage = node.storage_of(x);
  const uint32_t scale = node.add_constant(affine.scale, channels),
                 shift = node.add_constant(affine.shift, channels);
  const uint32_t scaled =
      node.call("aten.mul.Tensor", {node.in(x, storage), node.in(scale, storage)}, shape, storage);
  return node.define(node.call(
      "aten.add.Tensor", {node.in(scaled, storage), node.in(shift, storage), node.file().add_integer(1)},
      shape, storage));
}

// ---- Pools

Status check_pool(const NodeWriter& node, uint32_t x, const Shape& out) {
  if (node.shape(x).rank != 4 || out.rank != 4) return reject("rank", "input, expected rank 4");
  if (!fits_texture(node.shape(x)) || !fits_texture(out))
    return reject("attribute", "more pixels than a texture has");
  return {};
}

Status write_max_pool(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("self"));
  ETB_ASSIGN(const Shape out, node.result_shape());
  ETB_TRY(check_pool(node, x, out));
  if (node.result_count() > 1 && node.is_result_read(1))
    return reject("attribute", "indices that a node reads");
  std::vector<uint32_t> arguments = {node.in(x, kChannelTexture)};
  ETB_ASSIGN(const std::vector<int64_t> kernel, node.args().pair("kernel_size", {}));
  ETB_ASSIGN(const std::vector<int64_t> stride, node.args().pair("stride", kernel));
  ETB_ASSIGN(const std::vector<int64_t> padding, node.args().pair("padding", {0, 0}));
  ETB_ASSIGN(const std::vector<int64_t> dilation, node.args().pair("dilation", {1, 1}));
  for (const auto* numbers : {&kernel, &stride, &padding, &dilation})
    arguments.push_back(node.file().add_integers(*numbers));
  ETB_ASSIGN(const bool ceiling, node.args().flag("ceil_mode", false));
  arguments.push_back(node.file().add_truth(ceiling));
  return node.define(node.call("aten.max_pool2d.default", std::move(arguments), out, kChannelTexture));
}

uint32_t mean_pool(NodeWriter& node, uint32_t x, const Shape& out, std::vector<int64_t> kernel,
                   std::vector<int64_t> stride, std::vector<int64_t> padding, bool ceiling,
                   bool counts_padding) {
  FileBuilder& file = node.file();
  return node.call("aten.avg_pool2d.default",
                   {node.in(x, kChannelTexture), file.add_integers(std::move(kernel)),
                    file.add_integers(std::move(stride)), file.add_integers(std::move(padding)),
                    file.add_truth(ceiling), file.add_truth(counts_padding), node.nothing()},
                   out, kChannelTexture);
}

Status write_mean_pool(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("self"));
  ETB_ASSIGN(const Shape out, node.result_shape());
  ETB_TRY(check_pool(node, x, out));
  ETB_ASSIGN(const std::vector<int64_t> kernel, node.args().pair("kernel_size", {}));
  ETB_ASSIGN(const std::vector<int64_t> stride, node.args().pair("stride", kernel));
  ETB_ASSIGN(const std::vector<int64_t> padding, node.args().pair("padding", {0, 0}));
  ETB_ASSIGN(const bool ceiling, node.args().flag("ceil_mode", false));
  ETB_ASSIGN(const bool counts_padding, node.args().flag("count_include_pad", true));
  if (node.args().has("divisor_override"))
    return reject("attribute", "divisor_override: a number, expected none");
  if (ceiling) return reject("attribute", "ceil_mode: true, expected false");
  return node.define(mean_pool(node, x, out, kernel, stride, padding, ceiling, counts_padding));
}

// Windows of one size, where the sizes of the image are multiples of those of the result.
Status write_adaptive_pool(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("self"));
  ETB_ASSIGN(const Shape out, node.result_shape());
  ETB_TRY(check_pool(node, x, out));
  std::vector<int64_t> kernel;
  for (const uint32_t d : {2u, 3u}) {
    if (node.shape(x).sizes[d] % out.sizes[d] != 0)
      return reject("attribute", "output_size: no divisor of the image's size");
    kernel.push_back(node.shape(x).sizes[d] / out.sizes[d]);
  }
  return node.define(mean_pool(node, x, out, kernel, kernel, {0, 0}, false, true));
}

// ---- Sizes of images

// The runtime computes the scale from both sizes; PyTorch takes a given factor.
Status check_factors(const NodeWriter& node, const Shape& in, const Shape& out) {
  const auto found = node.args().find("scale_factors");
  if (!found) return {};
  const auto factors = found->floats();
  for (uint32_t i = 0; i < factors.size() && i < 2; ++i)
    if (factors[i] * in.sizes[2 + i] != out.sizes[2 + i])
      return reject("attribute", "scale_factors: a fraction of a pixel");
  return {};
}

Result<Shape> check_resize(NodeWriter& node, uint32_t x) {
  ETB_ASSIGN(const Shape out, node.result_shape());
  ETB_TRY(check_pool(node, x, out));
  ETB_TRY(check_factors(node, node.shape(x), out));
  return out;
}

Status write_nearest(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("input"));
  ETB_ASSIGN(const Shape out, check_resize(node, x));
  // The runtime rounds positions between pixels; PyTorch takes the pixel before. Whole factors have no such positions.
  for (const uint32_t d : {2u, 3u})
    if (out.sizes[d] % node.shape(x).sizes[d] != 0)
      return reject("attribute", "output_size: no multiple of the image's size");
  const uint32_t sizes = node.file().add_integers({out.sizes[2], out.sizes[3]});
  return node.define(node.call("aten.upsample_nearest2d.vec",
                               {node.in(x, kChannelTexture), sizes, node.nothing()}, out, kChannelTexture));
}

Status write_bilinear(NodeWriter& node) {
  ETB_ASSIGN(const uint32_t x, node.floats("input"));
  ETB_ASSIGN(const Shape out, check_resize(node, x));
  ETB_ASSIGN(const bool aligns_corners, node.args().flag("align_corners", false));
  if (aligns_corners && (out.sizes[2] == 1 || out.sizes[3] == 1))
    return reject("attribute", "align_corners: with a result of one row or column");
  const uint32_t sizes = node.file().add_integers({out.sizes[2], out.sizes[3]});
  return node.define(
      node.call("aten.upsample_bilinear2d.vec",
                {node.in(x, kChannelTexture), sizes, node.file().add_truth(aligns_corners), node.nothing()},
                out, kChannelTexture));
}

constexpr WrittenOp kRows[] = {
    {"aten.convolution.default", write_convolution},
    {"aten._native_batch_norm_legit_no_training.default", write_batch_norm},
    {"aten.max_pool2d.default", write_max_pool},
    {"aten.max_pool2d_with_indices.default", write_max_pool},
    {"aten.avg_pool2d.default", write_mean_pool},
    {"aten._adaptive_avg_pool2d.default", write_adaptive_pool},
    {"aten.upsample_nearest2d.vec", write_nearest},
    {"aten.upsample_bilinear2d.vec", write_bilinear},
};

}  // namespace

extern const WrittenOpList written_windows = kRows;

}  // namespace etb::gpu
