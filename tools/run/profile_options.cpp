// SPDX-License-Identifier: Apache-2.0
#include "tools/run/profile_options.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <charconv>

#include "api/format/etdump_program.hpp"
#include "api/format/printable_text.hpp"
#include "tools/option_values.hpp"
#include "tools/quantity.hpp"
#include "tools/standard_files.hpp"

namespace etb::tools {
namespace {

// Reads "7" or "10-20".
Result<std::pair<int64_t, int64_t>> parse_ids(const char* option, const std::string& text) {
  const auto number = [](std::string_view digits, int64_t& out) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    return error == std::errc() && end == digits.data() + digits.size() && out >= 0;
  };
  const size_t dash = text.find('-');
  std::pair<int64_t, int64_t> ids;
  const bool is_read =
      number(std::string_view(text).substr(0, dash), ids.first) &&
      (dash == std::string::npos || number(std::string_view(text).substr(dash + 1), ids.second));
  if (dash == std::string::npos) ids.second = ids.first;
  if (is_read && ids.first <= ids.second) return ids;
  return make_error(Code::INVALID_ARGUMENT,
                    fmt::format("{}: found {}, expected an index such as 7, or a range such as 10-20", option,
                                format::in_quotes(text)));
}

Result<host::FilterText> to_filter(const char* option, const std::string& pattern, const std::string& ids) {
  host::FilterText filter;
  filter.pattern = pattern;
  if (ids.empty()) return filter;
  ETB_ASSIGN(const auto range, parse_ids(option, ids));
  filter.first_id = range.first, filter.last_id = range.second;
  return filter;
}

host::DebugLevel level_of(const ProfileOptions& options) {
  const bool is_all = options.dump_intermediate_outputs || options.debug_level == "all" ||
                      (options.debug_level.empty() && !options.dump_outputs && !options.debug_buffer.empty());
  if (is_all) return host::DebugLevel::kIntermediateOutputs;
  return options.dump_outputs || options.debug_level == "outputs" ? host::DebugLevel::kProgramOutputs
                                                                  : host::DebugLevel::kNone;
}

// Options that choose what is recorded need a file for it.
Status check_files(const ProfileOptions& options) {
  const bool has_values = level_of(options) != host::DebugLevel::kNone;
  const struct {
    const char* name;
    bool is_given;
  } choices[] = {{"--debug-buffer", !options.debug_buffer.empty()},
                 {"--debug-level", has_values},
                 {"--profile-level", options.profile_level != "all"},
                 {"--profile-filter", !options.profile_filter.empty()},
                 {"--profile-ids", !options.profile_ids.empty()},
                 {"--debug-filter", !options.debug_filter.empty()},
                 {"--debug-ids", !options.debug_ids.empty()},
                 {"--debug-widen", options.widens_bfloat16},
                 {"--profile-memory", options.memory}};
  for (const auto& choice : choices)
    if (choice.is_given && options.profile.empty())
      return make_error(Code::INVALID_ARGUMENT,
                        std::string(choice.name) + " needs --profile FILE, the file of the recording");
  if (has_values && options.debug_buffer.empty())
    return make_error(
        Code::INVALID_ARGUMENT,
        "values are to be recorded, and there is no file for their elements\nhint: add --debug-buffer FILE");
  if (!has_values && !options.debug_buffer.empty())
    return make_error(Code::INVALID_ARGUMENT,
                      "--debug-buffer with --debug-level none: there is nothing to write to it");
  if (options.debug_buffer == kStandardFile)
    return make_error(Code::INVALID_ARGUMENT,
                      "--debug-buffer -: expected a file, which is written while the program runs");
  if (!options.profile.empty() && options.profile == options.debug_buffer)
    return make_error(Code::INVALID_ARGUMENT,
                      "--profile and --debug-buffer name the same file, expected two");
  return {};
}

}  // namespace

void add_profile_options(CLI::App& command, ProfileOptions& options) {
  command
      .add_option(
          "--profile,--etdump_path", options.profile,
          "Write the times of operators and delegates in all runs as an ETDump (.etdp), for `etbackend "
          "inspect` and ExecuTorch's Inspector")
      ->type_name("FILE");
  command
      .add_option("--profile-level", options.profile_level,
                  "Record each instruction (all), or only the whole method (method)")
      ->check(one_of({"method", "all"}))
      ->capture_default_str();
  command
      .add_option("--profile-filter", options.profile_filter,
                  "Record only operators, delegates and their events with such names (regular expression)")
      ->type_name("REGEX");
  command
      .add_option("--profile-ids", options.profile_ids,
                  "Record only these instructions; of the events of delegates with debug ids, only these ids")
      ->type_name("FIRST-LAST");
  command.add_flag(
      "--profile-memory", options.memory,
      "Record allocations, too; ExecuTorch's Inspector 1.5.1 does not open files that have some");
  command
      .add_option("--debug-buffer,--debug_output_path", options.debug_buffer,
                  "Record what operators and delegates compute, and write the elements to this file")
      ->type_name("FILE");
  command
      .add_option("--debug-level", options.debug_level,
                  "Values to record: outputs of the program, or all (the default with --debug-buffer)")
      ->check(one_of({"none", "outputs", "all"}));
  command
      .add_option("--debug-filter", options.debug_filter,
                  "Record only values of operators and delegates with such names (regular expression)")
      ->type_name("REGEX");
  command.add_option("--debug-ids", options.debug_ids, "Record only values of these instructions")
      ->type_name("FIRST-LAST");
  command.add_flag(
      "--debug-widen", options.widens_bfloat16,
      "Record bfloat16 as float32, because ExecuTorch's Inspector 1.5.1 does not open files with "
      "bfloat16 values");
  command
      .add_option("--debug-buffer-size,--debug_buffer_size", options.debug_buffer_size,
                  "Stop recording values when the file has this size, such as 512MiB (default: 16 GiB)")
      ->transform(CLI::AsSizeValue(false))
      ->check(whole_number(1, UINT64_MAX))
      ->type_name("SIZE");
  command.add_flag("--dump_outputs", options.dump_outputs, "As --debug-level outputs");
  command.add_flag("--dump_intermediate_outputs", options.dump_intermediate_outputs, "As --debug-level all");
}

Result<std::unique_ptr<host::EtdumpRecording>> start_recording(const ProfileOptions& options, bool is_json,
                                                               const Session& session) {
  ETB_TRY(check_files(options));
  if (options.profile.empty()) return std::unique_ptr<host::EtdumpRecording>();
  ETB_ASSIGN(const bool is_standard,
             uses_standard_output(
                 {{"--profile", options.profile, true}, {"--json", is_json ? kStandardFile : ""}}, session));
  if (!is_standard) ETB_TRY(format::expect_writable(options.profile));
  host::RecordingOptions recording;
  recording.profile_level =
      options.profile_level == "method" ? host::ProfileLevel::kMethod : host::ProfileLevel::kAll;
  recording.debug_level = level_of(options);
  recording.allocations = options.memory;
  recording.widens_bfloat16 = options.widens_bfloat16;
  ETB_ASSIGN(recording.event_filter, to_filter("--profile-ids", options.profile_filter, options.profile_ids));
  ETB_ASSIGN(recording.value_filter, to_filter("--debug-ids", options.debug_filter, options.debug_ids));
  recording.debug_path = options.debug_buffer;
  if (options.debug_buffer_size != 0) recording.max_debug_bytes = options.debug_buffer_size;
  return host::EtdumpRecording::make(recording);
}

Status write_recording(const ProfileOptions& options, const std::string& program,
                       host::EtdumpRecording* recording, Session& session) {
  if (recording == nullptr) return {};
  ETB_ASSIGN(format::ProgramIdentity identity, format::identify_program(program));
  identity.name = with_input_named(identity.name, session);
  recording->show_program(format::to_allocator_name(identity));
  if (options.profile == kStandardFile) {
    ETB_ASSIGN(const std::vector<std::byte> file, recording->to_bytes());
    ETB_TRY(
        write_output(options.profile, {reinterpret_cast<const char*>(file.data()), file.size()}, session));
  } else {
    ETB_TRY(recording->write(options.profile));
  }
  ETB_TRY(recording->commit_debug_file());
  if (recording->dropped_event_count() != 0)
    session.err << fmt::format("note: the profile lacks the last {}\n",
                               count_of(recording->dropped_event_count(), "event"));
  if (recording->dropped_value_count() != 0)
    session.err << fmt::format("note: the profile lacks {}, for which {} had no room\n",
                               count_of(recording->dropped_value_count(), "value"), options.debug_buffer);
  return {};
}

}  // namespace etb::tools
