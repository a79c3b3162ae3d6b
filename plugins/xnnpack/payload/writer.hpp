// SPDX-License-Identifier: Apache-2.0
// Writes XnnpackBackend payloads: the counterpart of xnnpack_payload.hpp, so that a payload can
// be read and written again.
#pragma once

#include <vector>

#include "plugins/xnnpack/payload/payload.hpp"

namespace etb::xnnpack {

// Returns the payload of `graph`. Constants must be named data (XnnConstant::key), as in all writers
// since 0.6; entry 0 is the placeholder. Verifies nothing: read_xnnpack_payload() on the result
// reports errors of the graph.
std::vector<std::byte> write_xnnpack_payload(const XnnPayload& graph);

}  // namespace etb::xnnpack
