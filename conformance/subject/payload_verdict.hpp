// SPDX-License-Identifier: Apache-2.0
// Verdicts of check_payload.
#pragma once

#include <cstddef>
#include <span>

#include "conformance/subject/subject.hpp"

namespace etb::conformance {

// Asks about a payload of `payload_nbytes` bytes of which the plugin sees at most 4096 of `prefix`. Returns the status of the
// call; the verdict stays UNKNOWN if that is an error. `target`: the device to run on.
inline etb_status ask_verdict(Subject& subject, std::span<const std::byte> prefix, uint64_t payload_nbytes,
                              etb_verdict& out, const etb_target* target = nullptr) {
  etb_payload_check check{};
  check.struct_size = ETB_INIT_SIZE(etb_payload_check);
  check.backend_id = subject.backend_id().c_str();
  check.prefix = {prefix.data(), prefix.size() < 4096 ? prefix.size() : 4096};
  check.payload_nbytes = payload_nbytes;
  check.target = target;
  out = {};
  out.struct_size = ETB_INIT_SIZE(etb_verdict);
  etb_error error = ETB_ERROR_INIT;
  const etb_status status = subject.table().delegate->check_payload(subject.handle(), &check, &out, &error);
  if (status != ETB_OK) out.kind = ETB_VERDICT_UNKNOWN;
  return status;
}

}  // namespace etb::conformance
