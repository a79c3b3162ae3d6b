// SPDX-License-Identifier: Apache-2.0
// Fuzz target: an ETDump that is read is written and read again without a difference.
#include <cstdlib>

#include "api/format/etdump.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t nbytes) {
  const auto blocks = etb::format::read_etdump(std::as_bytes(std::span(data, nbytes)));
  if (!blocks) return 0;
  const auto bytes = etb::format::write_etdump(*blocks);
  if (!bytes) return 0;
  const auto again = etb::format::read_etdump(*bytes);
  if (!again || again->size() != blocks->size()) std::abort();
  for (size_t i = 0; i < blocks->size(); ++i)
    if ((*again)[i].events.size() != (*blocks)[i].events.size()) std::abort();
  return 0;
}
