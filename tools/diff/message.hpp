// SPDX-License-Identifier: Apache-2.0
// Messages between this program and the process of a plugin. Both are the same program, so that no version is needed. The
// process ran foreign code: a reader of damaged bytes returns zeros, empty texts and no tensor, and knows that it did.
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
  // Number of items that follow, each of at least 8 bytes: never more than the bytes left hold.
  size_t count();
  std::string text();
  std::vector<uint32_t> numbers();
  void fail() { is_damaged_ = true, left_ = {}; }
  bool is_damaged() const { return is_damaged_; }
  // An error that names the process, if something read was damaged.
  [[nodiscard]] Status expect_whole() const;

 private:
  std::string_view left_;
  bool is_damaged_ = false;
};

// True if the bytes are those of the sizes. False for a value that is no tensor, which has neither.
bool has_all_bytes(const TensorData& tensor);

void write(const TensorData& tensor, MessageWriter& out);
TensorData read_tensor(MessageReader& in);
void write(const std::vector<DelegatedRegion>& regions, MessageWriter& out);
std::vector<DelegatedRegion> read_regions(MessageReader& in);

}  // namespace etb::diff
