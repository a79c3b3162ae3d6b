// SPDX-License-Identifier: Apache-2.0
// Messages between this program and the process of a plugin. Both are the same program, so that no version is needed. A
// reader of damaged bytes returns zeros and empty texts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/diff/metrics.hpp"
#include "tools/diff/run_part.hpp"

namespace etb::diff {

class MessageWriter {
 public:
  void number(uint64_t value);
  void text(std::string_view text);
  void numbers(std::span<const uint32_t> values);
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

class MessageReader {
 public:
  explicit MessageReader(std::string_view message) : left_(message) {}
  uint64_t number();
  std::string text();
  std::vector<uint32_t> numbers();

 private:
  std::string_view left_;
};

void write(const TensorData& tensor, MessageWriter& out);
TensorData read_tensor(MessageReader& in);
void write(const std::vector<DelegatedRegion>& regions, MessageWriter& out);
std::vector<DelegatedRegion> read_regions(MessageReader& in);

}  // namespace etb::diff
