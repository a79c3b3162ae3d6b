// SPDX-License-Identifier: Apache-2.0
// Checks the combination of datatypes at a node. XNNPACK chooses some kernels by one value's datatype alone,
// and they then read or write elements of that size in all values. It also packs weights by a flag, not by
// their datatype. So with mixed datatypes it could access memory outside its buffers.
#pragma once

#include "plugins/xnnpack/payload/payload.hpp"

namespace etb::xnnpack {

// Checks that a value is quantised as its datatype requires: as a whole, by channel, by group, at
// run time or not at all. Errors: INCOMPATIBLE for datatypes that are packed for one kind of
// processor, else INVALID_DATA.
[[nodiscard]] Status verify_xnnpack_quantisation(const XnnValue& value);

// Checks that a node's flags and the datatypes of its inputs and outputs are allowed for its operator
// (operators.def). XNNPACK itself reports if it has no kernel for them. Errors: INCOMPATIBLE for
// flags, INVALID_DATA for datatypes.
[[nodiscard]] Status verify_xnnpack_datatypes(const XnnPayload& payload, const XnnNode& node);

}  // namespace etb::xnnpack
