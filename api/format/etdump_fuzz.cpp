// SPDX-License-Identifier: Apache-2.0
// Fuzz target: an ETDump that is read is written and read again without a difference, and the elements of its
// tensors are found in a debug buffer or refused.
#include <array>
#include <cstdlib>

#include "api/format/etdump.hpp"

namespace {

void find_all(const etb::format::EtdumpBlock& block) {
  static const std::array<std::byte, 4096> debug_buffer{};
  unsigned sum = 0;
  for (const auto& event : block.values)
    for (const auto& tensor : event.value.tensors) {
      const auto elements = etb::format::find_elements(tensor, debug_buffer);
      if (!elements && elements.error().message.empty()) std::abort();
      if (elements && !elements->empty()) sum += std::to_integer<unsigned>(elements->back());
    }
  if (sum != 0) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t nbytes) {
  const auto blocks = etb::format::read_etdump(std::as_bytes(std::span(data, nbytes)));
  if (!blocks) return 0;
  for (const auto& block : *blocks) find_all(block);
  const auto bytes = etb::format::write_etdump(*blocks);
  if (!bytes) return 0;
  const auto again = etb::format::read_etdump(*bytes);
  if (!again) std::abort();
  const auto same = etb::format::write_etdump(*again);
  if (!same || *same != *bytes) std::abort();
  return 0;
}
