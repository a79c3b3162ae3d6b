// Whether the weights of a node have the sizes that its numbers say. XNNPACK packs weights by those numbers alone, so a payload
// that lies about them would make it read past their end.
#pragma once

#include "api/format/xnnpack_payload.hpp"

namespace etb::format {

// For convolutions, FullyConnected and BatchMatrixMultiply whose sizes were inferred (xnnpack_shapes.hpp); every other node passes. Errors: INVALID_DATA, naming what was found and expected.
[[nodiscard]] Status verify_xnnpack_weights(const XnnPayload& payload, const XnnNode& node);

}  // namespace etb::format
