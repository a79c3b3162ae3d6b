// SPDX-License-Identifier: Apache-2.0
// Stores the payloads of the methods' delegates, and their named data.
#pragma once

#include "partitioner_sdk/emit/emit.hpp"

namespace etb::emit {

// Adds a segment for each distinct payload and named datum of `options`. Named data goes to `outside` if that
// is not null.
void add_delegate_data(Program& program, const EmitOptions& options, ExternalData* outside);

}  // namespace etb::emit
