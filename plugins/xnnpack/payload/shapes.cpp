// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/payload/shapes.hpp"

#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/broadcast.hpp"
#include "api/ops/sizes/view.hpp"
#include "api/ops/sizes/window.hpp"
#include "plugins/xnnpack/payload/reader.hpp"

namespace etb::xnnpack {

namespace {

constexpr uint64_t kMostNbytes = uint64_t{1} << 32;  // bytes of a value
// Limits of the table of pixels that windows read: 8 bytes for each pixel of each window, more than input and
// output where there are few channels.
constexpr uint64_t kLeastTableNbytes = 16 << 20;
constexpr uint64_t kTableFactor = 1024;                  // a window of 31 x 31 over one channel
constexpr uint64_t kMostSize = (uint64_t{1} << 31) - 1;  // XNNPACK has some in 32 bits

constexpr uint32_t kFlagReshapeTo2d = 4;  // FullyConnected

// Returns the largest number on overflow.
uint64_t product(std::initializer_list<uint64_t> factors) {
  uint64_t all = 1;
  for (const uint64_t factor : factors)
    if (__builtin_mul_overflow(all, factor, &all)) return UINT64_MAX;
  return all;
}

std::string text_of(const XnnShape& shape) {
  std::string text = "[";
  for (const uint64_t size : shape.span()) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

// True if XNNPACK may run the operator with an empty input. The others may allocate no table of pixels then,
// and have none for a later run.
bool can_be_empty(XnnOperator op) {
  switch (op) {
    case XnnOperator::kConv2d:
    case XnnOperator::kDepthwiseConv2d:
    case XnnOperator::kConvTranspose2d:
    case XnnOperator::kAveragePooling2d:
    case XnnOperator::kMaxPooling2d:
    case XnnOperator::kArgMaxPooling2d:
    case XnnOperator::kGlobalAveragePooling2d:
    case XnnOperator::kResizeBilinear2d:
    case XnnOperator::kBatchMatrixMultiply:
    case XnnOperator::kScaledDotProductAttention:
      return false;
    default:
      return true;
  }
}

class ShapeInference {
 public:
  ShapeInference(const XnnPayload& payload, std::vector<XnnShape>& shapes)
      : payload_(payload), shapes_(shapes) {}

  Status infer(const XnnNode& node) {
    node_ = &node;
    ETB_TRY(infer_outputs());
    return check_empty();
  }

 private:
  Status infer_outputs() {
    switch (node_->op) {
#define ETB_XNN_OPERATOR(name, body, datatypes, flags, sizes, ...) \
  case XnnOperator::k##name:                                       \
    return sizes;
#include "plugins/xnnpack/payload/operators.def"
#undef ETB_XNN_OPERATOR
      case XnnOperator::kNone:
        break;
    }
    return elementwise();
  }

  // XNNPACK skips a node without input elements, so its output would not be written.
  Status check_empty() const {
    if (is_concatenation()) return {};
    const XnnShape& output = shapes_[node_->outputs[0]];
    for (uint32_t i = 0; i < node_->input_count; ++i)
      if (node_->inputs[i] != kXnnNoValue && input(i).is_empty() && !output.is_empty())
        return bad("input of sizes ", text_of(input(i)), " for an output of sizes ", text_of(output));
    return {};
  }

  bool is_concatenation() const {
    switch (node_->op) {
      case XnnOperator::kConcatenate2:
      case XnnOperator::kConcatenate3:
      case XnnOperator::kConcatenate4:
      case XnnOperator::kConcatenate5:
        return true;
      default:
        return false;
    }
  }

  const XnnShape& input(uint32_t i = 0) const { return shapes_[node_->inputs[i]]; }

  Status put(const XnnShape& shape, uint32_t output = 0) {
    const uint32_t id = node_->outputs[output];
    const XnnValue& value = payload_.value(id);
    if (value.quantisation == XnnQuantisation::kPerToken && shape.rank < value.nonbatch_dim_count)
      return bad("output of sizes ", text_of(shape), ", of which ", value.nonbatch_dim_count,
                 " dimensions are quantised together");
    std::array<uint32_t, 6> narrow{};
    for (uint32_t d = 0; d < shape.rank; ++d) {
      if (shape.sizes[d] > kMostSize) return bad("output of sizes ", text_of(shape));
      narrow[d] = static_cast<uint32_t>(shape.sizes[d]);
    }
    const auto nbytes = xnn_nbytes(value.datatype, {narrow.data(), shape.rank});
    if (!nbytes || *nbytes > kMostNbytes)
      return bad("output of sizes ", text_of(shape), ", expected at most ", kMostNbytes, " bytes");
    shapes_[id] = shape;
    return {};
  }

  // Broadcasts all inputs: sizes are counted from the last, and each is 1 or equal to the others.
  Status elementwise() {
    XnnShape out = input();
    if (node_->op == XnnOperator::kSoftmax && out.rank == 0) return bad("input of rank 0");
    for (uint32_t i = 1; i < node_->input_count; ++i) ETB_TRY(broadcast(input(i), out));
    return put(out);
  }

  static Status broadcast(const XnnShape& from, XnnShape& to) {
    const ops::Numbers numbers;
    int64_t wide[6] = {1, 1, 1, 1, 1, 1};
    const uint32_t rank = std::max(from.rank, to.rank);
    if (!ops::broadcast_into(numbers, to.span(), wide, rank) ||
        !ops::broadcast_into(numbers, from.span(), wide, rank))
      return bad("inputs of sizes ", text_of(to), " and ", text_of(from));
    to.rank = rank;
    std::transform(wide, wide + rank, to.sizes.begin(),
                   [](int64_t size) { return static_cast<uint64_t>(size); });
    return {};
  }

  Status fully_connected() {
    const XnnShape& filter = input(1);
    const bool is_transposed = (node_->flags & kXnnFlagTransposed) != 0;
    if (filter.rank != 2 || filter.is_empty())
      return bad("filter of sizes ", text_of(filter), ", expected 2");
    const uint64_t channels = filter.sizes[is_transposed ? 0 : 1];
    const XnnShape outputs{1, {filter.sizes[is_transposed ? 1 : 0]}};
    XnnShape out = input();
    if (out.rank == 0 || out.sizes[out.rank - 1] != channels)
      return bad("input of sizes ", text_of(out), ", expected ", channels, " elements in the last dimension");
    if (node_->inputs[2] != kXnnNoValue && input(2) != outputs)
      return bad("bias of sizes ", text_of(input(2)), ", expected ", text_of(outputs));
    if ((node_->flags & kFlagReshapeTo2d) != 0) {
      uint64_t rows = 1;
      for (uint32_t d = 0; d + 1 < out.rank; ++d) rows = product({rows, out.sizes[d]});
      out = {2, {rows, 0}};
    }
    out.sizes[out.rank - 1] = outputs.sizes[0];
    return put(out);
  }

  Status expect_image(uint64_t channels) const {
    if (input().rank == 4 && (channels == 0 || input().sizes[3] == channels)) return {};
    return bad("input of sizes ", text_of(input()), ", expected 4",
               channels == 0 ? std::string() : ", with " + std::to_string(channels) + " channels last");
  }

  static ops::Window rows_of(const XnnWindow& w) {
    return {w.kernel_height, w.stride_height, w.dilation_height, w.padding_top, w.padding_bottom};
  }
  static ops::Window columns_of(const XnnWindow& w) {
    return {w.kernel_width, w.stride_width, w.dilation_width, w.padding_left, w.padding_right};
  }
  static uint64_t reach_of(const ops::Window& w) {
    return static_cast<uint64_t>(w.kernel - 1) * static_cast<uint64_t>(w.dilation) + 1;
  }
  static uint64_t padding_of(const ops::Window& w) {
    return static_cast<uint64_t>(w.padding_before) + static_cast<uint64_t>(w.padding_after);
  }

  // Replaces a size by the number of positions of the window.
  static Status count_positions(const ops::Window& w, uint64_t& size) {
    const uint64_t padded = size + padding_of(w), reach = reach_of(w);
    ops::Numbers numbers;
    int64_t count = 0;
    // No overflow is left once the padded size and with it the reach are small.
    if (padded > kMostSize || static_cast<uint64_t>(w.stride) > kMostSize || padded < reach ||
        ops::count_positions(numbers, static_cast<int64_t>(size), w, ops::WindowRounding::kDown, &count) !=
            ops::WindowError::kNone)
      return bad("a window that reaches over ", reach, " pixels in steps of ", w.stride, " of ", padded);
    size = static_cast<uint64_t>(count);
    return {};
  }

  Status window(const XnnWindow& w, uint64_t channels) {
    XnnShape out = input();
    ETB_TRY(count_positions(rows_of(w), out.sizes[1]));
    ETB_TRY(count_positions(columns_of(w), out.sizes[2]));
    out.sizes[3] = channels;
    return put_image(out, product({w.kernel_height, w.kernel_width, sizeof(void*)}));
  }

  // Limits XNNPACK's table, which has `pixel_nbytes` for each pixel of an image.
  Status put_image(const XnnShape& shape, uint64_t pixel_nbytes) {
    ETB_TRY(put(shape));
    const auto half_numel = [](const XnnShape& image) {
      return product({image.sizes[0], image.sizes[1], image.sizes[2], image.sizes[3]}) / 2;
    };
    const uint64_t nbytes = product({shape.sizes[1], shape.sizes[2], pixel_nbytes});
    const uint64_t numel = half_numel(input()) + half_numel(shape);
    if (nbytes > std::max(kLeastTableNbytes, product({kTableFactor, sizeof(float) * 2, numel})))
      return bad("a table of ", nbytes, " bytes for an output of sizes ", text_of(shape));
    return {};
  }

  Status convolution() {
    const XnnWindow& w = node_->window;
    ETB_TRY(expect_image(product({w.groups, w.group_input_channels})));
    return window(w, product({w.groups, w.group_output_channels}));
  }

  Status transposed_convolution() {
    const XnnWindow& w = node_->window;
    ETB_TRY(expect_image(product({w.groups, w.group_input_channels})));
    XnnShape out = input();
    ETB_TRY(spread(rows_of(w), w.adjustment_height, out.sizes[1]));
    ETB_TRY(spread(columns_of(w), w.adjustment_width, out.sizes[2]));
    out.sizes[3] = product({w.groups, w.group_output_channels});
    return put_image(out, product({w.kernel_height, w.kernel_width, sizeof(void*)}));
  }

  // Replaces a size by that of the image that a transposed convolution makes.
  static Status spread(const ops::Window& w, uint32_t adjustment, uint64_t& size) {
    const uint64_t reach = reach_of(w), padding = padding_of(w);
    ops::Numbers numbers;
    int64_t out = 0;
    const bool fits = size != 0 && product({static_cast<uint64_t>(w.stride), size - 1}) <= kMostSize &&
                      reach <= kMostSize && adjustment < std::max(w.stride, w.dilation) &&
                      ops::transposed_size(numbers, static_cast<int64_t>(size), w, adjustment, &out) ==
                          ops::WindowError::kNone &&
                      out > 0;
    if (!fits)
      return bad("a window that spreads ", size, " pixels over ", reach, " each in steps of ", w.stride,
                 " without ", padding, " and with ", adjustment);
    size = static_cast<uint64_t>(out);
    return {};
  }

  Status pooling(const XnnWindow& w) {
    ETB_TRY(expect_image(0));
    ETB_TRY(window(w, input().sizes[3]));
    const XnnShape &in = input(), &out = shapes_[node_->outputs[0]];
    const bool is_dilated = w.dilation_height > 1 || w.dilation_width > 1;
    ETB_TRY(expect_pixels(rows_of(w), in.sizes[1], out.sizes[1], is_dilated));
    return expect_pixels(columns_of(w), in.sizes[2], out.sizes[2], is_dilated);
  }

  // A window in padding alone has no result. With a dilation XNNPACK takes another pixel for each one in padding, which must exist: that at
  // the window's place, moved by the rest of the padding.
  static Status expect_pixels(const ops::Window& w, uint64_t size, uint64_t count, bool is_dilated) {
    const auto before = static_cast<uint64_t>(w.padding_before),
               after = static_cast<uint64_t>(w.padding_after), dilation = static_cast<uint64_t>(w.dilation),
               stride = static_cast<uint64_t>(w.stride);
    const uint64_t reach = reach_of(w), rest = before % dilation;
    bool fits = before < reach && after < reach;
    const auto stand_in = [&](uint64_t position) {
      const uint64_t place = position * stride;
      return place < rest ? place + dilation - rest : place - rest;
    };
    if (is_dilated && count > 0)
      fits &= stand_in(count - 1) < size &&
              stand_in(rest == 0 ? 0 : std::min(count - 1, (rest - 1) / stride)) < size;
    if (fits) return {};
    return bad("windows over ", reach, " pixels, some in padding alone: ", before, " and ", after, " around ",
               size);
  }

  // Its windows are adjacent.
  Status argmax_pooling() {
    XnnWindow w = node_->window;
    w.stride_height = w.kernel_height;
    w.stride_width = w.kernel_width;
    ETB_TRY(pooling(w));
    return put(shapes_[node_->outputs[0]], 1);
  }

  Status resize(uint64_t height, uint64_t width, uint64_t pixel_nbytes) {
    ETB_TRY(expect_image(0));
    XnnShape out = input();
    out.sizes[1] = height;
    out.sizes[2] = width;
    return put_image(out, pixel_nbytes);
  }

  // Its table has four pointers for a pixel.
  Status resize_bilinear() { return resize(node_->first[0], node_->first[1], 4 * sizeof(void*)); }

  Status multiply_matrices() {
    const XnnShape &a = input(0), &b = input(1);
    const bool is_transposed = (node_->flags & kXnnFlagTransposed) != 0;
    if (a.rank < 2 || b.rank < 2 || a.sizes[a.rank - 1] != b.sizes[is_transposed ? b.rank - 1 : b.rank - 2])
      return bad("factors of sizes ", text_of(a), " and ", text_of(b), is_transposed ? ", transposed" : "");
    XnnShape out = a, batch = b;
    batch.sizes[b.rank - 2] = batch.sizes[b.rank - 1] = out.sizes[a.rank - 2] = out.sizes[a.rank - 1] = 1;
    ETB_TRY(broadcast(batch, out));
    out.sizes[out.rank - 2] = a.sizes[a.rank - 2];
    out.sizes[out.rank - 1] = b.sizes[is_transposed ? b.rank - 2 : b.rank - 1];
    return put(out);
  }

  // Query [.., T, C], keys [.., U, C], values [.., U, D], scale [C], mask [T, U]; result [.., T, D].
  Status attention() {
    const XnnShape &query = input(0), &keys = input(1), &values = input(2), &scale = input(3),
                   &mask = input(4);
    const auto last = [](const XnnShape& shape, uint32_t back) { return shape.sizes[shape.rank - back]; };
    if (query.rank < 2 || keys.rank != query.rank || values.rank != query.rank || mask.rank < 2 ||
        scale.rank != 1 || last(keys, 1) != last(query, 1) || last(scale, 1) != last(query, 1) ||
        last(values, 2) != last(keys, 2) || last(mask, 1) != last(keys, 2) || last(mask, 2) != last(query, 2))
      return bad("query of sizes ", text_of(query), ", keys ", text_of(keys), ", values ", text_of(values),
                 ", scale ", text_of(scale), ", mask ", text_of(mask));
    XnnShape scores = query;
    scores.sizes[query.rank - 1] = last(keys, 2);
    ETB_TRY(put(scores));
    XnnShape out = query;
    out.sizes[query.rank - 1] = last(values, 1);
    return put(out);
  }

  Status expect_rank(uint64_t rank) const {
    if (input().rank == rank) return {};
    return bad("input of rank ", input().rank, ", expected ", rank);
  }

  Status transpose() {
    ETB_TRY(expect_rank(node_->first.size()));
    XnnShape out = input();
    for (uint32_t d = 0; d < out.rank; ++d) out.sizes[d] = input().sizes[node_->first[d]];
    return put(out);
  }

  // A size of 0 is inferred from the others.
  Status reshape() {
    XnnShape out{static_cast<uint32_t>(node_->first.size()), {}};
    std::copy(node_->first.begin(), node_->first.end(), out.sizes.begin());
    std::vector<int64_t> sizes;
    for (const uint32_t size : node_->first) sizes.push_back(size == 0 ? -1 : int64_t{size});
    uint64_t all = 1;
    for (const uint64_t size : input().span()) all = product({all, size});
    ops::Numbers numbers;
    size_t index = 0;
    if (all > INT64_MAX ||
        ops::fill_open_size(numbers, static_cast<int64_t>(all), sizes, &index) != ops::ReshapeError::kNone)
      return bad("input of sizes ", text_of(input()), " as ", text_of(out));
    std::transform(sizes.begin(), sizes.end(), out.sizes.begin(),
                   [](int64_t size) { return static_cast<uint64_t>(size); });
    return put(out);
  }

  Status pad() {
    ETB_TRY(expect_rank(node_->first.size()));
    XnnShape out = input();
    for (uint32_t d = 0; d < out.rank; ++d) out.sizes[d] += uint64_t{node_->first[d]} + node_->second[d];
    return put(out);
  }

  // A size of 0 means the whole dimension. XNNPACK would read as many elements after an offset, too.
  Status slice() {
    ETB_TRY(expect_rank(node_->first.size()));
    XnnShape out = input();
    for (uint32_t d = 0; d < out.rank; ++d) {
      const uint64_t offset = node_->first[d], size = node_->second[d];
      if (offset > out.sizes[d] || size > out.sizes[d] - offset || (size == 0 && offset != 0))
        return bad("dimension ", d, ": ", size, " at ", offset, " of ", out.sizes[d]);
      if (size != 0) out.sizes[d] = size;
    }
    return put(out);
  }

  Status concatenate() {
    XnnShape out = input();
    const std::optional<size_t> axis = ops::wrap_axis(node_->axis, out.rank);
    if (!axis || out.rank == 0) return bad("dimension ", node_->axis, " of ", out.rank);
    for (uint32_t i = 1; i < node_->input_count; ++i) {
      if (!ops::can_join(ops::Numbers(), input(i).span(), out.span(), *axis))
        return bad("inputs of sizes ", text_of(input()), " and ", text_of(input(i)), " along ", *axis);
      out.sizes[*axis] += input(i).sizes[*axis];
    }
    return put(out);
  }

  const XnnPayload& payload_;
  std::vector<XnnShape>& shapes_;
  const XnnNode* node_ = nullptr;
};

}  // namespace

XnnShape xnnpack_shape(const XnnValue& value) {
  XnnShape shape{static_cast<uint32_t>(value.sizes.size()), {}};
  std::copy(value.sizes.begin(), value.sizes.end(), shape.sizes.begin());
  return shape;
}

Result<std::vector<XnnShape>> infer_xnnpack_shapes(const XnnPayload& payload,
                                                   std::span<const XnnShape> inputs) {
  std::vector<XnnShape> shapes(payload.value_of_id.size());
  for (const XnnValue& value : payload.values) shapes[value.id] = xnnpack_shape(value);
  for (size_t i = 0; i < inputs.size(); ++i) shapes[payload.input_ids[i]] = inputs[i];
  ShapeInference inference(payload, shapes);
  for (uint32_t i = 0; i < payload.nodes.size(); ++i) {
    if (Status status = inference.infer(payload.nodes[i]); !status)
      return tl::make_unexpected(
          with_context(std::move(status).error(), xnnpack_node_name(i, payload.nodes[i].op)));
  }
  if (std::all_of(payload.output_ids.begin(), payload.output_ids.end(),
                  [&](uint32_t id) { return shapes[id].is_empty(); }))
    return shapes;
  for (uint32_t i = 0; i < payload.nodes.size(); ++i) {
    const XnnShape& shape = shapes[payload.nodes[i].outputs[0]];
    if (shape.is_empty() && !can_be_empty(payload.nodes[i].op))
      return bad(xnnpack_node_name(i, payload.nodes[i].op), ": output of sizes ", text_of(shape),
                 " in a graph with outputs that have elements");
  }
  return shapes;
}

}  // namespace etb::xnnpack
