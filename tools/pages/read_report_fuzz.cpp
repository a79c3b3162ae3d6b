// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of pages: any file is rejected, or its document makes the same page again, alone and in a comparison.
#include <cstdlib>

#include "tools/pages/page.hpp"
#include "tools/pages/reports.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t nbytes) {
  using namespace etb::pages;  // NOLINT(google-build-using-namespace): one function
  const auto document = read_report({reinterpret_cast<const char*>(data), nbytes}, "input");
  if (!document) return 0;
  const auto again = read_report(make_page(*document), "again");
  if (!again) std::abort();
  if (!compare_documents(*document, *again, "a", "b", {})) std::abort();
  return 0;
}
