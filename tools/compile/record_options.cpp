// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/record_options.hpp"

#include <CLI/CLI.hpp>

#include "partitioner_sdk/record/record.hpp"

namespace etb::tools {

void add_record_options(CLI::App& command, RecordOptions& options) {
  command
      .add_option("--etrecord", options.path,
                  "Write an .etrecord, which relates profiles to the graph and its Python source")
      ->type_name("FILE");
  command
      .add_option("--etrecord-input", options.inputs,
                  "Store representative inputs of 'forward' in the record, one per input, in order: x.npy, "
                  "x.bin, a number, true or false (default: the archive's example inputs)")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      .add_option("--etrecord-output", options.outputs,
                  "Store reference outputs of a method in the record, such as PyTorch's, one per output, in "
                  "order: FILE for 'forward', or METHOD=FILE; as for --etrecord-input")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      .add_option("--etrecord-module", options.modules,
                  "Store the graph of another archive in the record, under NAME/forward; repeatable")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  command.add_flag("--etrecord-weights", options.weights,
                   "Store the weights in the record, too: its graphs then run without the archive");
}

Status check_record_options(const RecordOptions& options) {
  if (options.is_set()) return {};
  for (const auto& [name, is_given] : {std::pair("--etrecord-input", !options.inputs.empty()),
                                       {"--etrecord-output", !options.outputs.empty()},
                                       {"--etrecord-module", !options.modules.empty()},
                                       {"--etrecord-weights", options.weights}})
    if (is_given) return make_error(Code::INVALID_ARGUMENT, std::string(name) + " needs --etrecord FILE");
  return {};
}

Result<std::vector<std::pair<std::string, std::string>>> list_modules(const RecordOptions& options) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& text : options.modules) {
    const auto rejected = [&](const std::string& why) {
      return make_error(Code::INVALID_ARGUMENT, "--etrecord-module '" + text + "'" + why);
    };
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) return rejected(", expected NAME=FILE.pt2");
    const std::string name = text.substr(0, equals);
    if (const Status valid = record::check_extra_name(name); !valid)
      return rejected(": " + valid.error().message);
    for (const auto& [other, file] : out)
      if (other == name) return rejected(": the record has '" + name + "' already, from '" + file + "'");
    out.emplace_back(name, text.substr(equals + 1));
  }
  return out;
}

}  // namespace etb::tools
