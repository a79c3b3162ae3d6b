// SPDX-License-Identifier: Apache-2.0
#include "plugins/dsp_stub/plan/emitter.hpp"

#include <algorithm>

namespace etb::dsp_stub {

void Emitter::append(uint32_t opcode, const std::vector<uint32_t>& fields) {
  words_.push_back(opcode | static_cast<uint32_t>(fields.size() + 1) << 16);
  words_.insert(words_.end(), fields.begin(), fields.end());
}

// Waits for the youngest command of the other engine that conflicts, and so for all older ones.
void Emitter::issue(uint32_t engine, uint32_t opcode, const std::vector<uint32_t>& fields) {
  dsp_command command{};
  command.opcode = opcode;
  command.word_count = static_cast<uint32_t>(fields.size() + 1);
  std::copy(fields.begin(), fields.end(), command.word + 1);
  Ranges ranges(DSP_MAX_RANGES);
  ranges.resize(dsp_list_ranges(&command, ranges.data()));
  std::deque<Ranges>& others = flights_[1 - engine];
  const auto conflicts = [&](const Ranges& flight) {
    return std::any_of(flight.begin(), flight.end(), [&](const dsp_range& other) {
      return std::any_of(ranges.begin(), ranges.end(),
                         [&](const dsp_range& own) { return dsp_conflicts(&own, &other) != 0; });
    });
  };
  const auto youngest = std::find_if(others.rbegin(), others.rend(), conflicts);
  if (youngest != others.rend()) {
    const auto left = static_cast<uint32_t>(youngest - others.rbegin());
    append(DSP_OP_WAIT, {1 - engine, left});
    others.erase(others.begin(), others.end() - left);
  }
  append(opcode, fields);
  flights_[engine].push_back(std::move(ranges));
  if (flights_[engine].size() > DSP_QUEUE_LENGTH) flights_[engine].pop_front();
}

void Emitter::compute(uint32_t opcode, uint32_t narrow_count, uint32_t word_count,
                      std::initializer_list<Field> fields) {
  std::vector<uint32_t> words(word_count - 1);
  for (const auto& [index, value] : fields) words[index - 1] = static_cast<uint32_t>(value);
  if (narrow_count < word_count && words.back() == 0) words.resize(narrow_count - 1);
  issue(DSP_ENGINE_COMPUTE, opcode, words);
}

void Emitter::copy(Address from, Address to, const std::vector<uint32_t>& dims) {
  std::vector<uint32_t> fields = {from.memory, from.offset, to.memory, to.offset};
  fields.insert(fields.end(), dims.begin(), dims.end());
  issue(DSP_ENGINE_DMA, DSP_OP_DMA, fields);
}

std::vector<uint32_t> Emitter::finish() {
  append(DSP_OP_END, {});
  return std::move(words_);
}

}  // namespace etb::dsp_stub
