// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/message.hpp"

#include <algorithm>
#include <cstring>

namespace etb::diff {

void MessageWriter::number(uint64_t value) {
  out_.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void MessageWriter::text(std::string_view text) {
  number(text.size());
  out_.append(text);
}

void MessageWriter::numbers(std::span<const uint32_t> values) {
  text({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

uint64_t MessageReader::number() {
  uint64_t out = 0;
  const size_t nbytes = std::min(left_.size(), sizeof(out));
  if (nbytes == sizeof(out)) std::memcpy(&out, left_.data(), sizeof(out));
  left_.remove_prefix(nbytes);
  return out;
}

std::string MessageReader::text() {
  const size_t nbytes = std::min<uint64_t>(number(), left_.size());
  std::string out(left_.substr(0, nbytes));
  left_.remove_prefix(nbytes);
  return out;
}

std::vector<uint32_t> MessageReader::numbers() {
  const std::string bytes = text();
  std::vector<uint32_t> out(bytes.size() / sizeof(uint32_t));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(uint32_t));
  return out;
}

void write(const TensorData& tensor, MessageWriter& out) {
  out.number(static_cast<uint64_t>(tensor.shape.dtype));
  out.number(tensor.shape.sizes.size());
  for (const int64_t size : tensor.shape.sizes) out.number(static_cast<uint64_t>(size));
  out.text({reinterpret_cast<const char*>(tensor.shape.dim_order.data()), tensor.shape.dim_order.size()});
  out.text({reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()});
}

TensorData read_tensor(MessageReader& in) {
  TensorData out;
  out.shape.dtype = static_cast<etb_dtype>(in.number());
  for (uint64_t left = in.number(); left > 0; --left)
    out.shape.sizes.push_back(static_cast<int64_t>(in.number()));
  const std::string order = in.text(), bytes = in.text();
  out.shape.dim_order.assign(order.begin(), order.end());
  out.bytes.resize(bytes.size());
  if (!bytes.empty()) std::memcpy(out.bytes.data(), bytes.data(), bytes.size());
  return out;
}

void write(const std::vector<DelegatedRegion>& regions, MessageWriter& out) {
  out.number(regions.size());
  for (const DelegatedRegion& region : regions) {
    out.number(region.compiler);
    out.numbers(region.nodes);
  }
}

std::vector<DelegatedRegion> read_regions(MessageReader& in) {
  std::vector<DelegatedRegion> out(in.number());
  for (DelegatedRegion& region : out) {
    region.compiler = static_cast<uint32_t>(in.number());
    region.nodes = in.numbers();
  }
  return out;
}

}  // namespace etb::diff
