// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/constants.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace etb::xnnpack {

Result<std::span<const std::byte>> Constants::find(const XnnPayload& payload, uint32_t index, uint64_t nbytes,
                                                   const NamedData& named_data) {
  const XnnConstant& constant = payload.constants[index];
  std::span<const std::byte> bytes = constant.bytes;
  if (!constant.key.empty()) {
    auto known = named_.find(constant.key);
    if (known == named_.end()) {
      ETB_ASSIGN(Payload fetched, named_data.get(constant.key.c_str()));
      known = named_.emplace(constant.key, std::move(fetched)).first;
      name_of_[known->second.bytes().data()] = &known->first;
    }
    bytes = known->second.bytes();
  }
  if (bytes.size() < nbytes) {
    return make_error(Code::INVALID_DATA, "constant '" + constant.key + "' of " +
                                              std::to_string(bytes.size()) + " bytes, expected " +
                                              std::to_string(nbytes));
  }
  return bytes.first(static_cast<size_t>(nbytes));
}

// Overlapping ranges share one copy and keep their distances. If the lowest element is aligned there, all
// others are. Only ranges at a distance that is a multiple of 4, the largest element size, share a copy.
void Constants::copy(std::vector<Move> moves) {
  constexpr uintptr_t kLargestElement = 4;
  const auto order_of = [](const Move& move) {
    const auto address = reinterpret_cast<uintptr_t>(move.bytes.data());
    return std::pair(address % kLargestElement, address);
  };
  std::sort(moves.begin(), moves.end(),
            [&](const Move& a, const Move& b) { return order_of(a) < order_of(b); });
  for (size_t begin = 0, end = 0; begin < moves.size(); begin = end) {
    const auto [lying, first] = order_of(moves[begin]);
    uintptr_t last = first;
    for (; end < moves.size(); ++end) {
      const auto [other, address] = order_of(moves[end]);
      if (end > begin && (other != lying || address >= last)) break;
      last = std::max(last, address + moves[end].bytes.size());
    }
    const size_t nbytes = last - first;
    copies_.push_back(std::make_unique<std::byte[]>(nbytes + XNN_EXTRA_BYTES));
    copied_nbytes_ += nbytes + XNN_EXTRA_BYTES;
    std::byte* const made = copies_.back().get();
    if (nbytes > 0) std::memcpy(made, moves[begin].bytes.data(), nbytes);
    for (size_t i = begin; i < end; ++i) {
      const std::byte* const copy = made + (order_of(moves[i]).second - first);
      *moves[i].place = copy;
      if (moves[i].index != 0) copy_of_[{moves[i].index, moves[i].bytes.size()}] = copy;
    }
  }
}

const void* Constants::find_copy(uint32_t index, uint64_t nbytes) const {
  const auto found = copy_of_.find({index, nbytes});
  return found == copy_of_.end() ? nullptr : found->second;
}

const void* Constants::keep(std::span<const std::byte> bytes) {
  const auto [place, is_new] = kept_.emplace(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (is_new) copied_nbytes_ += bytes.size();
  return place->data();
}

void Constants::release(const void* address) {
  const auto found = name_of_.find(address);
  if (found == name_of_.end()) return;
  named_.erase(*found->second);
  name_of_.erase(found);
}

void Constants::release_all() {
  named_.clear();
  name_of_.clear();
}

}  // namespace etb::xnnpack
