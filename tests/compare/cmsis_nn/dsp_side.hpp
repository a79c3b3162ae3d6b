// SPDX-License-Identifier: Apache-2.0
// The simulated DSP (plugins/dsp_stub): a verified command stream for one layer, run by its interpreter.
#pragma once

#include <vector>

#include "layer.hpp"

namespace compare {

// The memory of one compute command: operands are appended, the output comes last.
class DspImage {
 public:
  uint32_t append(const void* bytes, size_t count);
  uint32_t append_word(uint32_t word);
  uint32_t size() const { return static_cast<uint32_t>(bytes_.size()); }
  // Copies the image to the device, runs `command`, which has the fields of one opcode, and reads `output_bytes` after the image.
  // False if the layer does not fit into the device, or the verifier refuses the stream.
  bool run(uint32_t opcode, const std::vector<uint32_t>& command, int8_t* output, size_t output_bytes) const;

 private:
  std::vector<uint8_t> bytes_;
};

// Fields of a convolution, without offsets of operands.
std::vector<uint32_t> conv_words(const Layer& layer);
// Weights in the order of the device.
std::vector<int8_t> device_weights(const Layer& layer, const int8_t* weights);

bool run_dsp(const Layer& layer, const Buffers& to);

}  // namespace compare
