// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/emit/constant_segment.hpp"

#include <algorithm>
#include <cstring>

namespace etb::emit {

namespace {

constexpr uint64_t kAlignment = 16;
// Small constants are found by their bytes. Larger ones are compared with those of equal size; unequal
// weights differ early.
constexpr uint64_t kSmallNbytes = 256;

// Returns the bytes that hold the elements, in any order; empty if there are gaps.
std::span<const std::byte> extent(const ir::Constant& constant) {
  int64_t last = 0;
  for (size_t i = 0; i < constant.sizes.size(); ++i) last += (constant.sizes[i] - 1) * constant.strides[i];
  if (constant.numel() == 0 || static_cast<uint64_t>(last) + 1 != constant.numel()) return {};
  return constant.storage.subspan(static_cast<size_t>(constant.offset) * ops::element_nbytes(constant.dtype),
                                  constant.nbytes());
}

bool are_equal(const ir::Constant& a, const ir::Constant& b) {
  const bool is_dense = a.is_contiguous();
  if (is_dense != b.is_contiguous()) return false;
  if (!is_dense && (a.sizes != b.sizes || a.strides != b.strides || a.dtype != b.dtype)) return false;
  const std::span<const std::byte> x = extent(a), y = extent(b);
  if (x.empty() || x.size() != y.size()) return false;
  return x.data() == y.data() || std::memcmp(x.data(), y.data(), x.size()) == 0;
}

}  // namespace

uint32_t DataSegment::add(const ir::Constant& constant) {
  const uint64_t nbytes = constant.nbytes();
  if (nbytes <= kSmallNbytes) {
    const std::vector<std::byte> bytes = constant.dense_bytes();
    const auto [found, is_new] =
        small_.emplace(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), 0);
    if (is_new) found->second = append(constant);
    return found->second;
  }
  std::vector<Entry>& candidates = large_[nbytes];
  const auto found = std::find_if(candidates.begin(), candidates.end(),
                                  [&](const Entry& entry) { return are_equal(entry.constant, constant); });
  if (found != candidates.end()) return found->number;
  candidates.push_back({constant, append(constant)});
  return candidates.back().number;
}

uint32_t DataSegment::append(const ir::Constant& constant) {
  const uint64_t nbytes = constant.nbytes();
  const uint64_t offset = (nbytes_ + kAlignment - 1) / kAlignment * kAlignment;
  const auto number = static_cast<uint32_t>(offsets_.size());
  offsets_.push_back(offset);
  if (constant.is_contiguous() && nbytes != 0) {
    pieces_.push_back({offset, constant.bytes()});
  } else if (nbytes != 0) {
    pieces_.push_back(
        {offset, {}, [constant](const format::ByteSink& sink) { return constant.give_row_major(sink); }});
  }
  nbytes_ = offset + nbytes;
  return number;
}

}  // namespace etb::emit
