// SPDX-License-Identifier: Apache-2.0
// Fuzzes the bytes that a plugin in a child process may write.
#include "partitioner_sdk/partition/wire.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace etb::partition;
  if (size == 0) return 0;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  const ConstantKeys none;
  if (data[0] % 3 == 0) {
    (void)read_texts(bytes);
  } else if (data[0] % 3 == 1) {
    if (const auto answers = read_answers(bytes)) (void)verify_answers(*answers, 64);
  } else {
    (void)read_compiled(bytes, 2, none);
  }
  return 0;
}
