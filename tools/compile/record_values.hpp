// SPDX-License-Identifier: Apache-2.0
// Values that `etbackend compile` stores in a record: representative inputs and reference outputs.
#pragma once

#include <string>
#include <vector>

#include "partitioner_sdk/emit/emit.hpp"
#include "tools/compile/compilation_record.hpp"
#include "tools/compile/record_options.hpp"

namespace etb::tools {

// Reads the values of the options, checks them against the program's methods, and adds them. Returns notes about
// conversions. INVALID_ARGUMENT for another number of values; INVALID_DATA for other dtypes or sizes.
[[nodiscard]] Result<std::vector<std::string>> add_record_values(const RecordOptions& options,
                                                                 const emit::Program& program,
                                                                 CompilationRecord& record);

}  // namespace etb::tools
