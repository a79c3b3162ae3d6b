// Where the payloads of the methods' delegates lie, and the data beside them.
#pragma once

#include "partitioner_sdk/emit/emit.hpp"

namespace etb::emit {

// Adds a segment for each different payload and named datum of `options`; the latter to `outside` instead, unless that is null.
void add_delegate_data(Program& program, const EmitOptions& options, ExternalData* outside);

}  // namespace etb::emit
