// Which datatypes may stand around a node. XNNPACK chooses some kernels by one of its values alone and lets them read or write elements of that
// one's size in all of them, and it packs weights as a flag says, not as they are: a payload that mixes them would make it leave its memory.
#pragma once

#include "api/format/xnnpack_payload.hpp"

namespace etb::format {

// Whether a value is quantised as its datatype wants it: as a whole, by channel, by group, at run time or not at all.
// Errors: NOT_SUPPORTED for datatypes that are packed for one kind of processor, else INVALID_DATA.
[[nodiscard]] Status verify_xnnpack_quantisation(const XnnValue& value);

// Whether a node's flags and the datatypes of its inputs and outputs are among those of its operator (xnnpack_operators.def). Whether this XNNPACK has a kernel for them is its own to say.
// Errors: NOT_SUPPORTED for flags, INVALID_DATA for datatypes.
[[nodiscard]] Status verify_xnnpack_datatypes(const XnnPayload& payload, const XnnNode& node);

}  // namespace etb::format
