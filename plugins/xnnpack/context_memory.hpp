// SPDX-License-Identifier: Apache-2.0
// A bound of the memory that one more context of a payload will hold.
#pragma once

#include "plugins/xnnpack/payload/payload.hpp"

namespace etb::xnnpack {

// Returns the bytes of a runtime and its workspace at the largest sizes: values between nodes, as if all were alive at once,
// the tables of pixel addresses of windows, what operators pack for each run, and XNNPACK's own objects. `payload` was
// read, so its sizes are those that its nodes make.
uint64_t most_context_bytes(const XnnPayload& payload);

}  // namespace etb::xnnpack
