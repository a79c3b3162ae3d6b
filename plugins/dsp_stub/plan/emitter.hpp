// SPDX-License-Identifier: Apache-2.0
// Writes commands, and the waits that keep the two engines from racing.
#pragma once

#include <deque>
#include <initializer_list>
#include <utility>
#include <vector>

#include "plugins/dsp_stub/core/dsp_core.h"

namespace etb::dsp_stub {

struct Address {
  uint32_t memory = DSP_MEMORY_TCM;
  uint32_t offset = 0;
  Address operator+(uint64_t bytes) const { return {memory, offset + static_cast<uint32_t>(bytes)}; }
};

// A value of a command's field.
using Field = std::pair<uint32_t, int64_t>;

class Emitter {
 public:
  void layer(uint32_t index) { append(DSP_OP_LAYER, {index}); }
  // The last field has a bit for each operand and result of int16 codes. If it is 0, the command has `narrow_count` words.
  void compute(uint32_t opcode, uint32_t narrow_count, uint32_t word_count,
               std::initializer_list<Field> fields);
  // Dimensions are triples of extent, source stride and destination stride, outermost first.
  void copy(Address from, Address to, const std::vector<uint32_t>& dims);
  void copy_bytes(Address from, Address to, uint32_t count) { copy(from, to, {count, 1, 1}); }
  std::vector<uint32_t> finish();

 private:
  using Ranges = std::vector<dsp_range>;
  void append(uint32_t opcode, const std::vector<uint32_t>& fields);
  void issue(uint32_t engine, uint32_t opcode, const std::vector<uint32_t>& fields);

  std::vector<uint32_t> words_;
  std::deque<Ranges> flights_[2];  // commands in flight of each engine, oldest first
};

}  // namespace etb::dsp_stub
