// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fault_plugin/digest.hpp"

#include "etb/cpp/bytes.hpp"
#include "etb/cpp/fail.hpp"

namespace faulty {

etb_status ETB_CALL resign(etb_plugin*, etb_bytes payload, const etb_blob_writer* writer, etb_error* error) {
  const std::span<const std::byte> bytes = etb::to_span(payload);
  if (bytes.size() < sizeof(uint64_t))
    return etb::fail(error, ETB_INVALID_DATA, "payload: no room for a digest");
  const std::span<const std::byte> body = bytes.first(bytes.size() - sizeof(uint64_t));
  uint64_t digest = digest_of(body);
  if (has_fault(209)) digest += 1;
  const etb_status status = writer->write(writer->ctx, 0, body.data(), body.size());
  return status != ETB_OK ? status : writer->write(writer->ctx, body.size(), &digest, sizeof(digest));
}

}  // namespace faulty
