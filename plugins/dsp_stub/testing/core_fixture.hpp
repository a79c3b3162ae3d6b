// SPDX-License-Identifier: Apache-2.0
// For tests of the core: a TCM with random codes, the rules of rounding by division, and streams for the verifier.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "plugins/dsp_stub/core/dsp_compute.h"
#include "plugins/dsp_stub/core/dsp_core.h"

namespace etb::dsp_stub {

using Words = std::vector<uint32_t>;

// Rounds value * multiplier / 2^shift to the nearest integer, ties upwards, by a division.
inline int64_t rounded(int64_t value, int64_t multiplier, uint32_t shift) {
  const int64_t one = int64_t{1} << shift, scaled = value * multiplier + one / 2;
  return scaled / one - (scaled % one < 0 ? 1 : 0);
}

// The same with ties to the even integer.
inline int64_t rounded_even(int64_t value, uint32_t shift) {
  const int64_t up = rounded(value, 1, shift), one = int64_t{1} << shift;
  return up * one - value == one / 2 && up % 2 != 0 ? up - 1 : up;
}

inline int64_t limited(int64_t value, int64_t low, int64_t high) {
  return std::min(std::max(value, low), high);
}

// Limits of codes.
inline int64_t lowest(bool is_wide) { return is_wide ? INT16_MIN : INT8_MIN; }
inline int64_t highest(bool is_wide) { return is_wide ? INT16_MAX : INT8_MAX; }

class Core : public testing::Test {
 protected:
  int64_t draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  int8_t code_at(size_t offset) const { return static_cast<int8_t>(tcm_[offset]); }
  int32_t wide_at(size_t offset, size_t index) const {
    return static_cast<int16_t>(tcm_[offset + 2 * index] | tcm_[offset + 2 * index + 1] << 8);
  }
  // Returns a code of either width.
  int64_t any_at(size_t offset, size_t index, bool is_wide) const {
    return is_wide ? wide_at(offset, index) : code_at(offset + index);
  }
  void store_wide(size_t offset, size_t index, int64_t value) {
    tcm_[offset + 2 * index] = static_cast<uint8_t>(value);
    tcm_[offset + 2 * index + 1] = static_cast<uint8_t>(value >> 8);
  }
  void fill() {
    for (uint8_t& byte : tcm_) byte = static_cast<uint8_t>(draw(0, 255));
  }
  void store(size_t offset, uint32_t value) {
    for (size_t i = 0; i < 4; ++i) tcm_[offset + i] = static_cast<uint8_t>(value >> (8 * i));
  }

  std::mt19937 random_{7};
  std::vector<uint8_t> tcm_ = std::vector<uint8_t>(65536);
};

// ---- the verifier

inline dsp_layout layout_of() {
  dsp_layout layout{};
  layout.tcm_bytes = 1024, layout.arena_bytes = 256, layout.constant_bytes = 256, layout.input_count = 1,
  layout.io_count = 2;
  layout.layer_count = 1, layout.io_bytes[0] = layout.io_bytes[1] = 64;
  return layout;
}

inline void put(Words& out, uint32_t opcode, const Words& fields) {
  out.push_back(opcode | static_cast<uint32_t>(fields.size() + 1) << 16);
  out.insert(out.end(), fields.begin(), fields.end());
}
inline void put_copy(Words& out, uint32_t from, uint32_t from_offset, uint32_t to, uint32_t to_offset,
                     uint32_t count) {
  put(out, DSP_OP_DMA, {from, from_offset, to, to_offset, count, 1, 1});
}
inline void put_table(Words& out, uint32_t input, uint32_t output, uint32_t count) {
  put(out, DSP_OP_TABLE, {input, output, count, 512});
}

inline std::string defect_of(const Words& words, uint32_t tcm_bytes = 1024) {
  dsp_layout layout = layout_of();
  layout.tcm_bytes = tcm_bytes;
  const dsp_stream stream = {reinterpret_cast<const uint8_t*>(words.data()),
                             static_cast<uint32_t>(words.size() * 4)};
  dsp_defect defect{};
  const int found = dsp_verify(&stream, &layout, &defect);
  EXPECT_EQ(found, defect.reason != nullptr);
  return defect.reason != nullptr ? defect.reason : "";
}

// Ends a stream, after copies that use all of the TCM and of the arena.
inline Words with_end(Words words, uint32_t tcm_bytes = 1024) {
  put(words, DSP_OP_WAIT, {DSP_ENGINE_COMPUTE, 0});
  put_copy(words, DSP_MEMORY_FILL, 0, DSP_MEMORY_TCM, tcm_bytes - 1, 1);
  put_copy(words, DSP_MEMORY_FILL, 0, DSP_MEMORY_ARENA, 255, 1);
  put(words, DSP_OP_END, {});
  return words;
}

}  // namespace etb::dsp_stub
