// SPDX-License-Identifier: Apache-2.0
#include "plugins/dsp_stub/plan/schedule.hpp"

#include <algorithm>

#include "plugins/dsp_stub/plan/emitter.hpp"

namespace etb::dsp_stub {

namespace {

// Emits one layer. Loads of a step come before the computation of the step before it, so that both engines
// work.
class LayerEmitter {
 public:
  LayerEmitter(const Network& network, const Layer& layer, const LayerPlan& plan, Emitter& out)
      : network_(network), layer_(layer), tiles_(plan.tiles), out_(out) {
    uint32_t at = plan.work_offset;
    for (const auto& [slot, offset] : {std::pair<const Slot*, uint32_t*>{&tiles_.tables, &tables_},
                                       {&tiles_.weights, &weights_},
                                       {&tiles_.input, &input_},
                                       {&tiles_.second, &second_},
                                       {&tiles_.output, &output_}}) {
      *offset = at;
      at += static_cast<uint32_t>(slot->total());
    }
  }

  void emit() {
    switch (layer_.kind) {
      case Layer::Kind::kCopy:
        return emit_copies();
      case Layer::Kind::kConv:
      case Layer::Kind::kPool:
      case Layer::Kind::kGather:
        return emit_windows();
      default:
        return emit_chunks();
    }
  }

 private:
  Address address(uint32_t buffer) const {
    const Buffer& b = network_.buffers[buffer];
    switch (b.kind) {
      case Buffer::Kind::kInput:
        return {DSP_MEMORY_IO + b.index, 0};
      case Buffer::Kind::kOutput:
        return {DSP_MEMORY_IO + static_cast<uint32_t>(network_.inputs.size()) + b.index, 0};
      case Buffer::Kind::kConstant:
        return {DSP_MEMORY_CONSTANTS, b.index};
      case Buffer::Kind::kInner:
        break;
    }
    return {b.is_resident ? DSP_MEMORY_TCM : DSP_MEMORY_ARENA, b.offset};
  }
  uint32_t width(uint32_t buffer) const { return network_.width(buffer); }
  // The word with a bit for each operand and result of int16 codes.
  uint32_t wide() const {
    const uint32_t second = layer_.inputs[1] != kNoBuffer || layer_.kind != Layer::Kind::kBinary
                                ? layer_.inputs[1]
                                : layer_.inputs[0];
    const bool has_wide_second = width(second) == 2 || layer_.weight_width == 2;
    return (width(layer_.inputs[0]) == 2 ? DSP_WIDE_FIRST : 0) | (has_wide_second ? DSP_WIDE_SECOND : 0) |
           (width(layer_.output) == 2 ? DSP_WIDE_RESULT : 0);
  }
  Address half(const Slot& slot, uint32_t offset, uint64_t step) const {
    return {DSP_MEMORY_TCM, offset + static_cast<uint32_t>(aligned(slot.nbytes) * (step % slot.halves))};
  }

  void emit_copies() {
    for (const Copy& copy : layer_.copies) {
      std::vector<uint32_t> dims;
      for (const CopyDim& dim : copy.dims)
        dims.insert(dims.end(), {dim.extent, dim.from_stride, dim.to_stride});
      const Address from = copy.from == kNoBuffer ? Address{DSP_MEMORY_FILL, copy.fill}
                                                  : address(copy.from) + copy.from_offset;
      out_.copy(from, address(layer_.output) + copy.to_offset, dims);
    }
  }

  // A load into the only half of a slot must come after the computation that reads it.
  bool has_single_buffer(bool has_blocks) const {
    const auto is_single = [](const Slot& slot) { return slot.nbytes != 0 && slot.halves == 1; };
    return is_single(tiles_.input) || is_single(tiles_.second) || (has_blocks && is_single(tiles_.weights));
  }

  // ---- layers over elements in a row: tables, arithmetic, softmax

  uint64_t chunk_elements() const {
    return layer_.kind == Layer::Kind::kSoftmax ? uint64_t{layer_.rows} * layer_.columns : layer_.count;
  }

  // Returns where the elements of a step are in the TCM.
  uint32_t place_of(uint32_t buffer, const Slot& slot, uint32_t offset, uint64_t step) const {
    if (slot.nbytes != 0) return half(slot, offset, step).offset;
    return (address(buffer) + step * tiles_.count * width(buffer)).offset;
  }
  void load_chunk(uint32_t buffer, const Slot& slot, uint32_t offset, uint64_t step, uint64_t count) {
    if (slot.nbytes != 0)
      out_.copy_bytes(address(buffer) + step * tiles_.count * width(buffer), half(slot, offset, step),
                      static_cast<uint32_t>(count * width(buffer)));
  }

  void emit_chunks() {
    const uint64_t total = chunk_elements(), steps = (total + tiles_.count - 1) / tiles_.count;
    const auto count_of = [&](uint64_t step) { return std::min(tiles_.count, total - step * tiles_.count); };
    if (layer_.tables.nbytes != 0)
      out_.copy_bytes({DSP_MEMORY_CONSTANTS, layer_.tables.offset}, {DSP_MEMORY_TCM, tables_},
                      layer_.tables.nbytes);
    const uint64_t ahead = has_single_buffer(false) ? 0 : 1;
    for (uint64_t step = 0; step < steps + ahead; ++step) {
      if (step < steps) {
        load_chunk(layer_.inputs[0], tiles_.input, input_, step, count_of(step));
        if (layer_.inputs[1] != kNoBuffer)
          load_chunk(layer_.inputs[1], tiles_.second, second_, step, count_of(step));
      }
      if (step < ahead) continue;
      const uint64_t done = step - ahead, count = count_of(done);
      compute_chunk(done, count);
      if (tiles_.output.nbytes != 0)
        out_.copy_bytes(half(tiles_.output, output_, done),
                        address(layer_.output) + done * tiles_.count * width(layer_.output),
                        static_cast<uint32_t>(count * width(layer_.output)));
    }
  }

  void compute_chunk(uint64_t step, uint64_t count) {
    const auto elements = static_cast<int64_t>(count);
    const uint32_t in = place_of(layer_.inputs[0], tiles_.input, input_, step),
                   result = place_of(layer_.output, tiles_.output, output_, step);
    if (layer_.kind == Layer::Kind::kTable) {
      out_.compute(DSP_OP_TABLE, DSP_TABLE_NARROW_WORDS, DSP_TABLE_WORDS,
                   {{DSP_TABLE_INPUT, in},
                    {DSP_TABLE_OUTPUT, result},
                    {DSP_TABLE_COUNT, elements},
                    {DSP_TABLE_TABLE, tables_},
                    {DSP_TABLE_FRACTION, layer_.fraction},
                    {DSP_TABLE_WIDE, wide()}});
    } else if (layer_.kind == Layer::Kind::kSoftmax) {
      out_.compute(DSP_OP_SOFTMAX, DSP_SOFTMAX_NARROW_WORDS, DSP_SOFTMAX_WORDS,
                   {{DSP_SOFTMAX_INPUT, in},
                    {DSP_SOFTMAX_OUTPUT, result},
                    {DSP_SOFTMAX_ROWS, elements / layer_.columns},
                    {DSP_SOFTMAX_COLUMNS, layer_.columns},
                    {DSP_SOFTMAX_TABLE, tables_},
                    {DSP_SOFTMAX_INVERSE, layer_.multipliers[0]},
                    {DSP_SOFTMAX_OUT_ZERO, layer_.out_zero},
                    {DSP_SOFTMAX_WIDE, wide()}});
    } else {
      const bool has_second = layer_.inputs[1] != kNoBuffer;
      out_.compute(
          DSP_OP_BINARY, DSP_BINARY_NARROW_WORDS, DSP_BINARY_WORDS,
          {{DSP_BINARY_KIND, layer_.op},
           {DSP_BINARY_A, in},
           {DSP_BINARY_B, has_second ? place_of(layer_.inputs[1], tiles_.second, second_, step) : in},
           {DSP_BINARY_OUTPUT, result},
           {DSP_BINARY_COUNT, elements},
           {DSP_BINARY_A_ZERO, layer_.in_zeros[0]},
           {DSP_BINARY_B_ZERO, layer_.in_zeros[1]},
           {DSP_BINARY_OUT_ZERO, layer_.out_zero},
           {DSP_BINARY_LOW, layer_.low},
           {DSP_BINARY_HIGH, layer_.high},
           {DSP_BINARY_A_MULTIPLIER, layer_.multipliers[0]},
           {DSP_BINARY_B_MULTIPLIER, layer_.multipliers[1]},
           {DSP_BINARY_SHIFT, layer_.shift},
           {DSP_BINARY_WIDE, wide()}});
    }
  }

  // ---- layers of windows

  struct Step {
    uint32_t channel, channels;  // output channels
    uint32_t image;              // of the batch
    uint32_t row, rows;          // output rows
    RowSpan in;
    uint64_t index, block;
  };

  std::vector<Step> window_steps() const {
    const Window& w = layer_.window;
    std::vector<Step> steps;
    uint64_t block = 0;
    for (uint32_t c = 0; c < w.out_c; c += tiles_.channels, ++block)
      for (uint32_t n = 0; n < w.batch; ++n)
        for (uint32_t y = 0; y < w.out_h; y += tiles_.rows) {
          const uint32_t rows = std::min(tiles_.rows, w.out_h - y);
          const RowSpan in =
              layer_.kind == Layer::Kind::kGather ? RowSpan{0, w.in_h, 0} : input_rows(w, y, rows);
          steps.push_back({c, std::min(tiles_.channels, w.out_c - c), n, y, rows, in, steps.size(), block});
        }
    return steps;
  }

  void emit_windows() {
    const std::vector<Step> steps = window_steps();
    if (layer_.kind != Layer::Kind::kConv && layer_.tables.nbytes != 0)
      out_.copy_bytes({DSP_MEMORY_CONSTANTS, layer_.tables.offset}, {DSP_MEMORY_TCM, tables_},
                      layer_.tables.nbytes);
    const size_t ahead = has_single_buffer(steps.back().block != 0) ? 0 : 1;
    for (size_t i = 0; i < steps.size() + ahead; ++i) {
      if (i < steps.size()) load_step(steps[i], i == 0 ? nullptr : &steps[i - 1]);
      if (i < ahead) continue;
      compute_step(steps[i - ahead]);
      if (tiles_.output.nbytes != 0) store_step(steps[i - ahead]);
    }
  }

  void load_step(const Step& step, const Step* before) {
    const Window& w = layer_.window;
    if (layer_.kind == Layer::Kind::kConv && (before == nullptr || before->block != step.block)) {
      const uint32_t filter = layer_.weights.nbytes / w.out_c;
      out_.copy_bytes({DSP_MEMORY_CONSTANTS, layer_.weights.offset + filter * step.channel},
                      half(tiles_.weights, weights_, step.block), filter * step.channels);
      out_.copy_bytes({DSP_MEMORY_CONSTANTS, layer_.tables.offset + DSP_CHANNEL_BYTES * step.channel},
                      half(tiles_.tables, tables_, step.block), DSP_CHANNEL_BYTES * step.channels);
    }
    if (tiles_.input.nbytes == 0) return;
    const uint64_t row = uint64_t{w.in_w} * w.in_c * width(layer_.inputs[0]);
    out_.copy_bytes(address(layer_.inputs[0]) + (uint64_t{step.image} * w.in_h + step.in.first) * row,
                    half(tiles_.input, input_, step.index), static_cast<uint32_t>(step.in.count * row));
  }

  // Returns where the step's input rows are in the TCM.
  uint32_t input_place(const Step& step) const {
    if (tiles_.input.nbytes != 0) return half(tiles_.input, input_, step.index).offset;
    const Window& w = layer_.window;
    const uint64_t row = uint64_t{w.in_w} * w.in_c * width(layer_.inputs[0]);
    return (address(layer_.inputs[0]) + (uint64_t{step.image} * w.in_h + step.in.first) * row).offset;
  }
  // Returns the byte where the step's results begin in a buffer of the whole output.
  uint64_t output_offset(const Step& step) const {
    const Window& w = layer_.window;
    const uint64_t pixel = (uint64_t{step.image} * w.out_h + step.row) * w.out_w;
    return (pixel * w.out_c + step.channel) * width(layer_.output);
  }
  uint32_t output_place(const Step& step) const {
    return tiles_.output.nbytes != 0 ? half(tiles_.output, output_, step.index).offset
                                     : (address(layer_.output) + output_offset(step)).offset;
  }

  void compute_step(const Step& step) {
    if (layer_.kind == Layer::Kind::kConv) return compute_conv(step);
    const Window& w = layer_.window;
    if (layer_.kind == Layer::Kind::kPool) return compute_pool(step);
    const uint32_t bytes = width(layer_.output);  // it copies pixels
    out_.compute(DSP_OP_GATHER, DSP_GATHER_WORDS, DSP_GATHER_WORDS,
                 {{DSP_GATHER_INPUT, input_place(step)},
                  {DSP_GATHER_IN_H, w.in_h},
                  {DSP_GATHER_IN_W, w.in_w},
                  {DSP_GATHER_IN_C, w.in_c * bytes},
                  {DSP_GATHER_OUTPUT, output_place(step)},
                  {DSP_GATHER_OUT_H, w.out_h},
                  {DSP_GATHER_OUT_W, w.out_w},
                  {DSP_GATHER_INDICES, tables_}});
  }

  void compute_conv(const Step& step) {
    const Window& w = layer_.window;
    out_.compute(DSP_OP_CONV, DSP_CONV_NARROW_WORDS, DSP_CONV_WORDS,
                 {{DSP_CONV_INPUT, input_place(step)},
                  {DSP_CONV_IN_H, step.in.count},
                  {DSP_CONV_IN_W, w.in_w},
                  {DSP_CONV_IN_C, w.in_c},
                  {DSP_CONV_WEIGHTS, half(tiles_.weights, weights_, step.block).offset},
                  {DSP_CONV_CHANNELS, half(tiles_.tables, tables_, step.block).offset},
                  {DSP_CONV_OUTPUT, output_place(step)},
                  {DSP_CONV_OUT_H, step.rows},
                  {DSP_CONV_OUT_W, w.out_w},
                  {DSP_CONV_OUT_C, step.channels},
                  {DSP_CONV_PIXEL_STRIDE, tiles_.output.nbytes != 0 ? step.channels : w.out_c},
                  {DSP_CONV_KERNEL_H, w.kernel_h},
                  {DSP_CONV_KERNEL_W, w.kernel_w},
                  {DSP_CONV_STRIDE_H, w.stride_h},
                  {DSP_CONV_STRIDE_W, w.stride_w},
                  {DSP_CONV_DILATION_H, w.dilation_h},
                  {DSP_CONV_DILATION_W, w.dilation_w},
                  {DSP_CONV_PADDING_TOP, step.in.padding},
                  {DSP_CONV_PADDING_LEFT, w.left},
                  {DSP_CONV_GROUP_IN, w.group_in},
                  {DSP_CONV_GROUP_OUT, w.group_out},
                  {DSP_CONV_FIRST_OUT, step.channel},
                  {DSP_CONV_IN_ZERO, layer_.in_zeros[0]},
                  {DSP_CONV_OUT_ZERO, layer_.out_zero},
                  {DSP_CONV_LOW, layer_.low},
                  {DSP_CONV_HIGH, layer_.high},
                  {DSP_CONV_IS_TRANSPOSED, w.is_transposed ? 1 : 0},
                  {DSP_CONV_WIDE, wide()}});
  }

  void compute_pool(const Step& step) {
    const Window& w = layer_.window;
    out_.compute(DSP_OP_POOL, DSP_POOL_NARROW_WORDS, DSP_POOL_WORDS,
                 {{DSP_POOL_KIND, layer_.op},
                  {DSP_POOL_INPUT, input_place(step)},
                  {DSP_POOL_IN_H, step.in.count},
                  {DSP_POOL_IN_W, w.in_w},
                  {DSP_POOL_IN_C, w.in_c},
                  {DSP_POOL_OUTPUT, output_place(step)},
                  {DSP_POOL_OUT_H, step.rows},
                  {DSP_POOL_OUT_W, w.out_w},
                  {DSP_POOL_KERNEL_H, w.kernel_h},
                  {DSP_POOL_KERNEL_W, w.kernel_w},
                  {DSP_POOL_STRIDE_H, w.stride_h},
                  {DSP_POOL_STRIDE_W, w.stride_w},
                  {DSP_POOL_DILATION_H, w.dilation_h},
                  {DSP_POOL_DILATION_W, w.dilation_w},
                  {DSP_POOL_PADDING_TOP, step.in.padding},
                  {DSP_POOL_PADDING_LEFT, w.left},
                  {DSP_POOL_IN_ZERO, layer_.in_zeros[0]},
                  {DSP_POOL_OUT_ZERO, layer_.out_zero},
                  {DSP_POOL_LOW, layer_.low},
                  {DSP_POOL_HIGH, layer_.high},
                  {DSP_POOL_MULTIPLIER, layer_.multipliers[0]},
                  {DSP_POOL_SHIFT, layer_.shift},
                  {DSP_POOL_SCALES, tables_},
                  {DSP_POOL_WIDE, wide()}});
  }

  void store_step(const Step& step) {
    const Window& w = layer_.window;
    const Address to = address(layer_.output) + output_offset(step);
    const uint32_t pixels = step.rows * w.out_w, bytes = width(layer_.output);
    const Address from = half(tiles_.output, output_, step.index);
    if (step.channels == w.out_c) return out_.copy_bytes(from, to, pixels * step.channels * bytes);
    out_.copy(from, to, {pixels, step.channels * bytes, w.out_c * bytes, step.channels * bytes, 1, 1});
  }

  const Network& network_;
  const Layer& layer_;
  const Tiles& tiles_;
  Emitter& out_;
  uint32_t tables_ = 0, weights_ = 0, input_ = 0, second_ = 0, output_ = 0;  // offsets of the slots
};

}  // namespace

Result<Schedule> schedule(Network& network, uint32_t tcm_bytes, bool has_layers) {
  ETB_ASSIGN(const MemoryPlan plan, plan_memory(network, tcm_bytes));
  Emitter emitter;
  for (uint32_t i = 0; i < network.layers.size(); ++i) {
    if (has_layers) emitter.layer(i);
    LayerEmitter(network, network.layers[i], plan.layers[i], emitter).emit();
  }
  return Schedule{emitter.finish(), plan.tcm_bytes, plan.arena_bytes};
}

}  // namespace etb::dsp_stub
