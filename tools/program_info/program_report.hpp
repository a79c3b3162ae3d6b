// SPDX-License-Identifier: Apache-2.0
// The contents of a program file (.pte): as JSON, as text, and as a page that draws its memory over time.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "api/format/program_view.hpp"
#include "etb/cpp/result.hpp"
#include "host/loaders/mmap_loader.hpp"

namespace etb::tools {

// A program file in memory, verified.
struct ProgramFile {
  std::string path;
  std::shared_ptr<host::MmapLoader> loader;  // keeps bytes
  std::span<const std::byte> bytes;
  format::ProgramView view;  // into bytes
};

// Reads a program file, or the program in a bundled program (.bpte).
[[nodiscard]] Result<ProgramFile> read_program_file(const std::string& path);

// Returns methods with inputs, outputs, operators, delegates and memory plan; segments, constants and named
// data.
nlohmann::ordered_json report_program(const ProgramFile& file);

// Returns the report as text. Named data is a list of digests, one for each weight of a delegate, so it is
// printed on request only, at the end.
std::string format_report(const nlohmann::ordered_json& report, bool shows_named_data = false);

// Returns one self-contained page: the report, and each method's arenas over time.
std::string format_html(const ProgramFile& file, const nlohmann::ordered_json& report);

}  // namespace etb::tools
