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
  if (left_.size() < sizeof(out)) {
    fail();
    return 0;
  }
  std::memcpy(&out, left_.data(), sizeof(out));
  left_.remove_prefix(sizeof(out));
  return out;
}

size_t MessageReader::count() {
  const uint64_t out = number();
  if (out <= left_.size() / sizeof(uint64_t)) return out;
  fail();
  return 0;
}

std::string MessageReader::text() {
  const uint64_t nbytes = number();
  if (nbytes > left_.size()) {
    fail();
    return {};
  }
  std::string out(left_.substr(0, nbytes));
  left_.remove_prefix(nbytes);
  return out;
}

Status MessageReader::expect_whole() const {
  if (!is_damaged_) return {};
  return make_error(Code::INVALID_DATA, "its process answered with damaged bytes");
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

bool has_all_bytes(const TensorData& tensor) {
  const auto& sizes = tensor.shape.sizes;
  uint64_t nbytes = conformance::element_nbytes(tensor.shape.dtype);
  if (nbytes == 0) return false;
  if (std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; })) return false;
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return tensor.bytes.empty();
  for (const int64_t size : sizes) {
    if (nbytes > tensor.bytes.size() / static_cast<uint64_t>(size)) return false;
    nbytes *= static_cast<uint64_t>(size);
  }
  return nbytes == tensor.bytes.size();
}

namespace {

bool is_dim_order(const std::vector<uint8_t>& order, size_t rank) {
  if (order.empty()) return true;
  if (order.size() != rank) return false;
  for (size_t dim = 0; dim < rank; ++dim)
    if (std::find(order.begin(), order.end(), dim) == order.end()) return false;
  return true;
}

}  // namespace

TensorData read_tensor(MessageReader& in) {
  TensorData out;
  out.shape.dtype = static_cast<etb_dtype>(in.number());
  for (size_t left = in.count(); left > 0; --left)
    out.shape.sizes.push_back(static_cast<int64_t>(in.number()));
  const std::string order = in.text(), bytes = in.text();
  out.shape.dim_order.assign(order.begin(), order.end());
  out.bytes.resize(bytes.size());
  if (!bytes.empty()) std::memcpy(out.bytes.data(), bytes.data(), bytes.size());
  const bool is_none = out.shape.sizes.empty() && out.bytes.empty();
  if ((is_none || has_all_bytes(out)) && is_dim_order(out.shape.dim_order, out.shape.sizes.size()))
    return out;
  in.fail();
  return {};
}

void write(const std::vector<DelegatedRegion>& regions, MessageWriter& out) {
  out.number(regions.size());
  for (const DelegatedRegion& region : regions) {
    out.number(region.compiler);
    out.numbers(region.nodes);
  }
}

std::vector<DelegatedRegion> read_regions(MessageReader& in) {
  std::vector<DelegatedRegion> out(in.count());
  for (DelegatedRegion& region : out) {
    region.compiler = static_cast<uint32_t>(in.number());
    region.nodes = in.numbers();
  }
  return out;
}

}  // namespace etb::diff
