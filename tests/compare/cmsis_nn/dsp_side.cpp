// SPDX-License-Identifier: Apache-2.0
#include "dsp_side.hpp"

#include <cstdio>

#include "plugins/dsp_stub/core/dsp_core.h"

namespace compare {
namespace {

using Words = std::vector<uint32_t>;

void put(Words& out, uint32_t opcode, std::initializer_list<uint32_t> fields) {
  out.push_back(opcode | static_cast<uint32_t>(fields.size() + 1) << 16);
  out.insert(out.end(), fields);
}

}  // namespace

uint32_t DspImage::append(const void* bytes, size_t count) {
  const uint32_t at = size();
  const auto* from = static_cast<const uint8_t*>(bytes);
  bytes_.insert(bytes_.end(), from, from + count);
  return at;
}

uint32_t DspImage::append_word(uint32_t word) { return append(&word, sizeof word); }

bool DspImage::run(uint32_t opcode, const Words& command, int8_t* output, size_t output_bytes) const {
  const auto out_bytes = static_cast<uint32_t>(output_bytes);
  if (bytes_.size() + output_bytes > DSP_TCM_BYTES) return false;
  Words words;
  put(words, DSP_OP_LAYER, {0});
  put(words, DSP_OP_DMA, {DSP_MEMORY_IO, 0, DSP_MEMORY_TCM, 0, size(), 1, 1});
  put(words, DSP_OP_WAIT, {DSP_ENGINE_DMA, 0});
  words.push_back(opcode | static_cast<uint32_t>(command.size()) << 16);
  words.insert(words.end(), command.begin() + 1, command.end());
  put(words, DSP_OP_WAIT, {DSP_ENGINE_COMPUTE, 0});
  put(words, DSP_OP_DMA, {DSP_MEMORY_TCM, size(), DSP_MEMORY_IO + 1, 0, out_bytes, 1, 1});
  put(words, DSP_OP_END, {});
  const dsp_stream stream = {reinterpret_cast<const uint8_t*>(words.data()),
                             static_cast<uint32_t>(words.size() * 4)};
  dsp_layout layout = {};
  layout.tcm_bytes = size() + out_bytes;
  layout.input_count = 1, layout.io_count = 2, layout.layer_count = 1;
  layout.io_bytes[0] = size(), layout.io_bytes[1] = out_bytes;
  dsp_defect defect = {};
  if (dsp_verify(&stream, &layout, &defect) != 0) {
    std::fprintf(stderr, "the device refuses a stream: %s at %u\n", defect.reason, defect.offset);
    return false;
  }
  std::vector<uint8_t> tcm(layout.tcm_bytes);
  dsp_memories memories = {};
  memories.tcm = tcm.data(), memories.input_count = 1;
  memories.inputs[0] = bytes_.data(), memories.outputs[0] = reinterpret_cast<uint8_t*>(output);
  dsp_clock clock;
  return dsp_run(&stream, &memories, nullptr, &clock) == 0;
}

// Weights of depthwise layers are [rows, columns, outputs]; the device has the output first.
std::vector<int8_t> device_weights(const Layer& layer, const int8_t* weights) {
  std::vector<int8_t> out(weights, weights + layer.weight_count());
  if (layer.kind != Kind::kDepthwise) return out;
  const int32_t taps = layer.kernel_h * layer.kernel_w;
  for (int32_t o = 0; o < layer.out_c; ++o)
    for (int32_t tap = 0; tap < taps; ++tap)
      out[static_cast<size_t>(o * taps + tap)] = weights[tap * layer.out_c + o];
  return out;
}

Words conv_words(const Layer& layer) {
  Words w(DSP_CONV_WORDS);
  const auto set = [&w](uint32_t field, int32_t value) { w[field] = static_cast<uint32_t>(value); };
  const int32_t groups = layer.in_c / layer.group_in();
  set(DSP_CONV_IN_H, layer.in_h), set(DSP_CONV_IN_W, layer.in_w), set(DSP_CONV_IN_C, layer.in_c);
  set(DSP_CONV_OUT_H, layer.out_h()), set(DSP_CONV_OUT_W, layer.out_w()), set(DSP_CONV_OUT_C, layer.out_c);
  set(DSP_CONV_PIXEL_STRIDE, layer.out_c);
  set(DSP_CONV_KERNEL_H, layer.kernel_h), set(DSP_CONV_KERNEL_W, layer.kernel_w);
  set(DSP_CONV_STRIDE_H, layer.stride_h), set(DSP_CONV_STRIDE_W, layer.stride_w);
  set(DSP_CONV_DILATION_H, layer.dilation_h), set(DSP_CONV_DILATION_W, layer.dilation_w);
  set(DSP_CONV_PADDING_TOP, layer.padding_h), set(DSP_CONV_PADDING_LEFT, layer.padding_w);
  set(DSP_CONV_GROUP_IN, layer.group_in()), set(DSP_CONV_GROUP_OUT, layer.out_c / groups);
  set(DSP_CONV_IN_ZERO, -layer.input_offset), set(DSP_CONV_OUT_ZERO, layer.output_offset);
  set(DSP_CONV_LOW, layer.low), set(DSP_CONV_HIGH, layer.high);
  return w;
}

bool run_dsp(const Layer& layer, const Buffers& to) {
  const std::vector<int8_t> weights = device_weights(layer, to.weights);
  const size_t image_in = layer.input_count() / static_cast<size_t>(layer.batch),
               image_out = layer.output_count() / static_cast<size_t>(layer.batch);
  for (int32_t image = 0; image < layer.batch; ++image) {
    DspImage memory;
    Words w = conv_words(layer);
    for (int32_t o = 0; o < layer.out_c; ++o) {
      memory.append_word(static_cast<uint32_t>(to.bias[o]));
      memory.append_word(static_cast<uint32_t>(to.multipliers[o]));
      memory.append_word(static_cast<uint32_t>(31 - to.shifts[o]));
    }
    w[DSP_CONV_CHANNELS] = 0;
    w[DSP_CONV_INPUT] = memory.append(to.input + static_cast<size_t>(image) * image_in, image_in);
    w[DSP_CONV_WEIGHTS] = memory.append(weights.data(), weights.size());
    w[DSP_CONV_OUTPUT] = memory.size();
    if (!memory.run(DSP_OP_CONV, w, to.output + static_cast<size_t>(image) * image_out, image_out))
      return false;
  }
  return true;
}

}  // namespace compare
