// Which datatypes may stand around a node. XNNPACK chooses some kernels by one of its values alone and lets them read or write elements of that
// one's size in all of them, and it packs weights as a flag says, not as they are: a payload that mixes them would make it leave its memory.
#pragma once

#include "api/format/xnnpack_payload.hpp"

namespace etb::format {

// Whether a value of this datatype can be quantised as it says: quantised ones are, as their kernels expect it, and the others are not.
// Errors: INVALID_DATA.
[[nodiscard]] Status verify_xnnpack_quantisation(const XnnValue& value);

// Whether flags and datatypes are among those of the operator (xnnpack_operators.def). Whether this XNNPACK has a kernel for them is its own to say.
// Errors: NOT_SUPPORTED for flags, INVALID_DATA for datatypes.
[[nodiscard]] Status verify_xnnpack_datatypes(const XnnPayload& payload, const XnnNode& node);

}  // namespace etb::format
