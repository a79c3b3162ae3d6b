// SPDX-License-Identifier: Apache-2.0
// Text and JSON about a program that `etbackend compile` wrote.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>

#include "partitioner_sdk/emit/emit.hpp"

namespace etb::tools {

// Paths of the files of a compilation; "" for a file that was not asked for.
struct WrittenFiles {
  std::string program;  // "-": standard output
  std::string external_data, record;
};

// Size of a file, if it can be read.
std::optional<uint64_t> nbytes_of(const std::string& path);

// Prints a line for each method, each memory of --memory, and each file; with lists_spills each tensor outside of the
// cheapest memory.
void print_summary(const emit::Program& program, const WrittenFiles& files, bool lists_spills,
                   std::ostream& out);

// The same as JSON: methods and files.
nlohmann::ordered_json compilation_json(const emit::Program& program, const WrittenFiles& files);

}  // namespace etb::tools
