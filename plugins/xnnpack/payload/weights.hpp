// SPDX-License-Identifier: Apache-2.0
// Checks that a node's weights have the sizes of its parameters. XNNPACK packs weights by the parameters
// alone, so with wrong ones it would read past the weights' end.
#pragma once

#include "plugins/xnnpack/payload/payload.hpp"

namespace etb::xnnpack {

// For convolutions, FullyConnected and BatchMatrixMultiply with inferred sizes (xnnpack_shapes.hpp). Succeeds
// for every other node. Errors: INVALID_DATA, with found and expected values.
[[nodiscard]] Status verify_xnnpack_weights(const XnnPayload& payload, const XnnNode& node);

}  // namespace etb::xnnpack
