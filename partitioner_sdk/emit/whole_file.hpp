// Files that appear whole or not at all.
#pragma once

#include <functional>
#include <string>

#include "api/format/program_writer.hpp"

namespace etb::emit {

// Writes beside the file and renames.
[[nodiscard]] Status write_whole_file(const std::string& path,
                                      const std::function<Status(const format::ByteSink&)>& write);

}  // namespace etb::emit
