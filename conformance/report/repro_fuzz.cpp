// SPDX-License-Identifier: Apache-2.0
// Fuzzes replay files: any text is rejected, or parsed and written back the same.
#include <cstdlib>

#include "conformance/report/repro.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t nbytes) {
  const auto repro = etb::conformance::parse_repro({reinterpret_cast<const char*>(data), nbytes});
  if (!repro) return 0;
  const auto again = etb::conformance::parse_repro(etb::conformance::to_json_text(*repro));
  if (!again || again->name.size() > repro->name.size() * 3 + 3) std::abort();
  return 0;
}
