// Writes XnnpackBackend payloads: the counterpart of xnnpack_payload.hpp, so that what is read can be written again.
#pragma once

#include <vector>

#include "api/format/xnnpack_payload.hpp"

namespace etb::format {

// The payload of `graph`. Constants must be named data (XnnConstant::key), as all writers since 0.6 do; entry 0 is the placeholder.
// Nothing is verified: read_xnnpack_payload() on the result says what is wrong with the graph.
std::vector<std::byte> write_xnnpack_payload(const XnnPayload& graph);

}  // namespace etb::format
