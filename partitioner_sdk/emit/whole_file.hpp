// Files that appear whole or not at all.
#pragma once

#include <functional>
#include <string>

#include "api/format/output_file.hpp"
#include "api/format/program_writer.hpp"
#include "partitioner_sdk/ir/module.hpp"

namespace etb::emit {

// Writes as api/format/output_file.hpp does. Bytes that lie in one of `files` are copied by the system, from file to file: they never
// become memory of this process.
[[nodiscard]] Status write_whole_file(const std::string& path,
                                      const std::function<Status(const format::ByteSink&)>& write,
                                      std::span<const ir::FileBytes> files = {});

// The same into a file that is open; the caller commits it.
[[nodiscard]] Status write_into(format::OutputFile& file,
                                const std::function<Status(const format::ByteSink&)>& write,
                                std::span<const ir::FileBytes> files = {});

}  // namespace etb::emit
