// SPDX-License-Identifier: Apache-2.0
// Writes files completely or not at all.
#pragma once

#include <functional>
#include <string>

#include "api/format/output_file.hpp"
#include "api/format/program_writer.hpp"
#include "partitioner_sdk/ir/module.hpp"

namespace etb::emit {

// Writes as api/format/output_file.hpp does. The system copies bytes inside `files` from file to file, so
// that they never enter this process's memory.
[[nodiscard]] Status write_whole_file(const std::string& path,
                                      const std::function<Status(const format::ByteSink&)>& write,
                                      std::span<const ir::FileBytes> files = {});

// Writes to an open file. The caller commits it.
[[nodiscard]] Status write_into(format::OutputFile& file,
                                const std::function<Status(const format::ByteSink&)>& write,
                                std::span<const ir::FileBytes> files = {});

}  // namespace etb::emit
