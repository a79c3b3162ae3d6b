// Files that appear whole or not at all.
#pragma once

#include <functional>
#include <string>

#include "api/format/program_writer.hpp"
#include "partitioner_sdk/ir/module.hpp"

namespace etb::emit {

// Writes beside the file and renames. What lies in one of `files` is copied by the system, from file to file: it never becomes
// memory of this process.
[[nodiscard]] Status write_whole_file(const std::string& path,
                                      const std::function<Status(const format::ByteSink&)>& write,
                                      std::span<const ir::FileBytes> files = {});

}  // namespace etb::emit
