// SPDX-License-Identifier: Apache-2.0
// Fuzzes target files, as a plugin reads what they hold.
#include "etb/cpp/compile.hpp"
#include "partitioner_sdk/partition/target_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = etb::partition::TargetFile::parse({reinterpret_cast<const char*>(data), size});
  if (!file) return 0;
  const auto target = etb::Target::make(&(*file)->target());
  if (!target) __builtin_trap();
  (void)target->get_i64("tcm_bytes", 0);
  return 0;
}
