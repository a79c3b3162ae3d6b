// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/program_summary.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "api/format/printable_text.hpp"
#include "tools/quantity.hpp"
#include "tools/standard_files.hpp"

namespace etb::tools {
namespace {

using Json = nlohmann::ordered_json;

void print_written(const std::string& path, std::ostream& out) {
  const auto nbytes = nbytes_of(path);
  out << "wrote " << format::made_printable(path) << (nbytes ? " (" + nbytes_text(*nbytes) + ")" : "")
      << '\n';
}

Json written_file(const std::string& path) {
  const auto nbytes = nbytes_of(path);
  return {{"file", path}, {"nbytes", nbytes ? Json(*nbytes) : Json(nullptr)}};
}

std::string memory_note(const emit::MethodReport& method) {
  if (method.arena_nbytes != method.least_arena_nbytes)
    return fmt::format(" ({} if branches shared it)", nbytes_text(method.least_arena_nbytes));
  if (method.arena_nbytes == method.arena_lower_bound_nbytes) return " (the least possible)";
  return fmt::format(" (no plan needs less than {})", nbytes_text(method.arena_lower_bound_nbytes));
}

}  // namespace

// A device or pipe has no size.
std::optional<uint64_t> nbytes_of(const std::string& path) {
  std::error_code failed;
  const auto nbytes = std::filesystem::file_size(path, failed);
  return failed ? std::nullopt : std::optional<uint64_t>(nbytes);
}

void print_summary(const emit::Program& program, const WrittenFiles& files, std::ostream& out) {
  for (const emit::MethodReport& method : program.methods) {
    const std::string name = format::made_printable(method.name);
    for (const std::string& kernel : method.own_kernels)
      out << fmt::format("{}: calls the custom kernel {}, which the application must register\n", name,
                         format::made_printable(kernel));
    out << fmt::format("{}: {} with {}, {} working memory{}\n", name,
                       count_of(method.instruction_count, "instruction"),
                       count_of(method.delegate_calls.size(), "delegate call"),
                       nbytes_text(method.arena_nbytes), memory_note(method));
  }
  if (files.program == kStandardFile)
    out << "wrote the program to standard output\n";
  else
    print_written(files.program, out);
  for (const std::string* const path : {&files.external_data, &files.record})
    if (!path->empty()) print_written(*path, out);
}

Json compilation_json(const emit::Program& program, const WrittenFiles& files) {
  Json methods = Json::array();
  for (const emit::MethodReport& method : program.methods)
    methods.push_back({{"name", method.name},
                       {"instructions", method.instruction_count},
                       {"delegate_calls", method.delegate_calls.size()},
                       {"arena_nbytes", method.arena_nbytes},
                       {"arena_lower_bound_nbytes", method.arena_lower_bound_nbytes},
                       {"least_arena_nbytes", method.least_arena_nbytes},
                       {"own_kernels", method.own_kernels}});
  Json report{{"program", written_file(files.program)}, {"methods", std::move(methods)}};
  if (!files.external_data.empty()) report["external_data"] = written_file(files.external_data);
  if (!files.record.empty()) report["etrecord"] = written_file(files.record);
  return report;
}

}  // namespace etb::tools
