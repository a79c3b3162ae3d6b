// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/emit/external_data.hpp"

#include <algorithm>
#include <cstring>

namespace etb::emit {

std::string ExternalData::add(const ir::Constant& constant) {
  format::DataTensorSpec tensor;
  tensor.dtype = static_cast<int8_t>(constant.dtype);
  for (const int64_t size : constant.sizes) tensor.sizes.push_back(static_cast<int32_t>(size));
  const uint32_t number = known_.add(constant);
  std::vector<size_t>& same = tensors_of_[number];
  for (const size_t index : same) {
    if (tensors_[index].dtype == tensor.dtype && tensors_[index].sizes == tensor.sizes)
      return tensors_[index].key;
  }
  if (same.empty()) {
    tensor.segment = static_cast<uint32_t>(pieces_.size());
    if (constant.is_contiguous()) {
      pieces_.push_back({0, constant.bytes()});
    } else {
      pieces_.push_back(
          {0, {}, [constant](const format::ByteSink& sink) { return constant.give_row_major(sink); }});
    }
    segment_nbytes_.push_back(constant.nbytes());
  } else {
    tensor.segment = tensors_[same.front()].segment;
  }
  // Two methods may use one name for different data.
  const size_t times = names_[constant.name]++;
  tensor.key = constant.name + (times == 0 ? "" : "#" + std::to_string(times));
  same.push_back(tensors_.size());
  tensors_.push_back(tensor);
  return tensor.key;
}

void ExternalData::add_blob(const std::string& key, std::span<const std::byte> bytes) {
  const auto same = std::find_if(pieces_.begin(), pieces_.end(), [&](const format::SegmentPiece& piece) {
    if (piece.give || piece.bytes.size() != bytes.size()) return false;
    return piece.bytes.data() == bytes.data() ||
           std::memcmp(piece.bytes.data(), bytes.data(), bytes.size()) == 0;
  });
  format::DataTensorSpec blob;
  blob.key = key;
  blob.is_blob = true;
  blob.segment = static_cast<uint32_t>(same - pieces_.begin());
  if (same == pieces_.end()) {
    pieces_.push_back({0, bytes});
    segment_nbytes_.push_back(bytes.size());
  }
  tensors_.push_back(std::move(blob));
}

}  // namespace etb::emit
