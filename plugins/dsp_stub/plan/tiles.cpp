// SPDX-License-Identifier: Apache-2.0
#include "plugins/dsp_stub/plan/tiles.hpp"

#include <algorithm>

namespace etb::dsp_stub {

namespace {

constexpr uint64_t kStepCycles = 128;  // start of a copy and of a command: weighs traffic against steps
constexpr uint64_t kBusBytes = 16;

uint64_t steps_of(uint64_t total, uint64_t part) { return (total + part - 1) / part; }

// Different tile sizes that make 1, 2, 3, ... steps of `total`.
std::vector<uint32_t> sizes_by_steps(uint32_t total, uint32_t granule) {
  std::vector<uint32_t> out;
  for (uint32_t steps = 1; steps <= total; steps = steps < 8 ? steps + 1 : steps + steps / 4) {
    uint32_t size = static_cast<uint32_t>(steps_of(total, steps));
    if (steps > 1 && size > granule) size = static_cast<uint32_t>(steps_of(size, granule)) * granule;
    size = std::min(size, total);
    if (out.empty() || out.back() != size) out.push_back(size);
  }
  if (out.back() != 1) out.push_back(1);
  return out;
}

uint32_t most_input_rows(const Window& w, uint32_t rows) {
  uint32_t most = 1;
  for (uint32_t first = 0; first < w.out_h; first += rows)
    most = std::max(most, input_rows(w, first, std::min(rows, w.out_h - first)).count);
  return most;
}

struct Residence {
  bool input, second, output;
  uint64_t input_width, second_width, output_width;  // bytes of a code
};

// `most_halves` is 1 where memory is too small for two buffers: the engines then take turns.
Tiles window_tiles(const Layer& layer, const Residence& resident, uint32_t rows, uint32_t channels,
                   uint32_t most_halves) {
  const Window& w = layer.window;
  Tiles out;
  out.rows = rows;
  out.channels = channels;
  const bool is_conv = layer.kind == Layer::Kind::kConv;
  const uint64_t blocks = steps_of(w.out_c, channels), steps = blocks * w.batch * steps_of(w.out_h, rows);
  const uint32_t halves = steps > 1 ? most_halves : 1;
  if (is_conv) {
    out.weights = {uint64_t{layer.weights.nbytes} / w.out_c * channels, blocks > 1 ? most_halves : 1};
    out.tables = {uint64_t{DSP_CHANNEL_BYTES} * channels, blocks > 1 ? most_halves : 1};
  } else if (layer.tables.nbytes != 0) {
    out.tables = {layer.tables.nbytes, 1};
  }
  if (!resident.input)
    out.input = {most_input_rows(w, rows) * resident.input_width * w.in_w * w.in_c, halves};
  if (!resident.output) out.output = {rows * resident.output_width * w.out_w * channels, halves};
  return out;
}

uint64_t window_cost(const Layer& layer, const Residence& resident, const Tiles& tiles) {
  const Window& w = layer.window;
  const uint64_t blocks = steps_of(w.out_c, tiles.channels), stripes = steps_of(w.out_h, tiles.rows);
  uint64_t bytes = layer.weights.nbytes + layer.tables.nbytes;
  const bool keeps_input = w.batch * stripes == 1;
  if (!resident.input) bytes += (keeps_input ? 1 : blocks * w.batch * stripes) * tiles.input.nbytes;
  if (!resident.output) bytes += w.batch * resident.output_width * w.out_h * w.out_w * w.out_c;
  return bytes / kBusBytes + blocks * w.batch * stripes * kStepCycles;
}

std::optional<Tiles> choose_window(const Layer& layer, const Residence& resident, uint64_t budget) {
  std::optional<Tiles> best;
  uint64_t best_cost = UINT64_MAX;
  const bool is_conv = layer.kind == Layer::Kind::kConv, is_gather = layer.kind == Layer::Kind::kGather;
  const Window& w = layer.window;
  const std::vector<uint32_t> all = {w.out_c}, whole = {w.out_h};
  for (uint32_t halves = 2; halves >= 1 && !best; --halves)
    for (const uint32_t channels : is_conv ? sizes_by_steps(w.out_c, 8) : all)
      for (const uint32_t rows : is_gather ? whole : sizes_by_steps(w.out_h, 1)) {
        const Tiles tiles = window_tiles(layer, resident, rows, channels, halves);
        const uint64_t cost = window_cost(layer, resident, tiles);
        if (tiles.work_bytes() > budget || cost >= best_cost) continue;
        best = tiles;
        best_cost = cost;
      }
  return best;
}

Tiles flat_tiles(const Layer& layer, const Residence& resident, uint64_t count, uint32_t halves) {
  Tiles out;
  out.count = count;
  if (layer.tables.nbytes != 0) out.tables = {layer.tables.nbytes, 1};
  if (!resident.input) out.input = {count * resident.input_width, halves};
  if (layer.inputs[1] != kNoBuffer && !resident.second) out.second = {count * resident.second_width, halves};
  if (!resident.output) out.output = {count * resident.output_width, halves};
  return out;
}

std::optional<Tiles> choose_flat(const Layer& layer, const Residence& resident, uint64_t budget) {
  const Tiles whole = flat_tiles(layer, resident, layer.count, 1);
  if (whole.work_bytes() <= budget) return whole;
  Tiles part = flat_tiles(layer, resident, kTcmAlignment, 2);
  const uint64_t table = part.tables.total();
  if (part.work_bytes() > budget) return std::nullopt;
  const uint64_t chunk = (budget - table) / (part.work_bytes() - table) * kTcmAlignment;
  return flat_tiles(layer, resident, chunk, 2);
}

std::optional<Tiles> choose_rows(const Layer& layer, const Residence& resident, uint64_t budget) {
  for (const uint32_t rows : sizes_by_steps(layer.rows, 1)) {
    Tiles tiles = flat_tiles(layer, resident, uint64_t{rows} * layer.columns, rows < layer.rows ? 2 : 1);
    tiles.rows = rows;
    if (tiles.work_bytes() <= budget) return tiles;
  }
  return std::nullopt;
}

}  // namespace

RowSpan input_rows(const Window& w, uint32_t first_out, uint32_t out_count) {
  const int64_t reach = int64_t{w.kernel_h - 1} * w.dilation_h, last_out = int64_t{first_out} + out_count - 1;
  const int64_t stride = w.stride_h;
  int64_t first = 0, end = 0;
  if (w.is_transposed) {
    first = std::max<int64_t>(first_out + int64_t{w.top} - reach, 0) / stride;
    end = std::max<int64_t>(last_out + w.top, 0) / stride + 1;
  } else {
    first = first_out * stride - w.top;
    end = last_out * stride - w.top + reach + 1;
  }
  first = std::clamp<int64_t>(first, 0, int64_t{w.in_h} - 1);
  end = std::clamp<int64_t>(end, first + 1, w.in_h);
  const int64_t padding =
      w.is_transposed ? w.top + int64_t{first_out} - first * stride : w.top - first_out * stride + first;
  return {static_cast<uint32_t>(first), static_cast<uint32_t>(end - first), static_cast<int32_t>(padding)};
}

std::optional<Tiles> choose_tiles(const Network& network, const Layer& layer, uint64_t budget) {
  const Residence resident = {is_in_tcm(network, layer.inputs[0]), is_in_tcm(network, layer.inputs[1]),
                              is_in_tcm(network, layer.output),    network.width(layer.inputs[0]),
                              network.width(layer.inputs[1]),      network.width(layer.output)};
  switch (layer.kind) {
    case Layer::Kind::kCopy:
      return Tiles{};
    case Layer::Kind::kConv:
    case Layer::Kind::kPool:
    case Layer::Kind::kGather:
      return choose_window(layer, resident, budget);
    case Layer::Kind::kSoftmax:
      return choose_rows(layer, resident, budget);
    default:
      return choose_flat(layer, resident, budget);
  }
}

}  // namespace etb::dsp_stub
