// SPDX-License-Identifier: Apache-2.0
// Fuzzes the text form: any text is rejected, or is a module that prints. A valid module is read back from
// its print.
#include <cstdio>
#include <cstdlib>

#include "partitioner_sdk/ir/text.hpp"
#include "partitioner_sdk/ir/verify.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace etb;
  auto module = ir::parse({reinterpret_cast<const char*>(data), size});
  if (!module) return 0;
  const std::string text = ir::print(*module);
  if (!ir::verify(*module)) return 0;
  auto again = ir::parse(text);
  if (again && ir::print(*again) == text) return 0;
  std::fprintf(stderr, "%s\nis read as\n%s\n", text.c_str(),
               again ? ir::print(*again).c_str() : again.error().message.c_str());
  std::abort();
}
