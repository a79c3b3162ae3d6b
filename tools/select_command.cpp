// SPDX-License-Identifier: Apache-2.0
// `etbackend select FILE...`: lists the operators and dtypes of programs, for a run time with these kernels only
// (tools/cmake/EtbRuntime.cmake).
#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <set>

#include "host/kernels/portable.hpp"
#include "host/runtime/dtype.hpp"
#include "host/runtime/kernel_registry.hpp"
#include "tools/command.hpp"
#include "tools/command_facts.hpp"
#include "tools/file_kind.hpp"
#include "tools/option_values.hpp"
#include "tools/program_info/program_report.hpp"
#include "tools/standard_files.hpp"

namespace etb::tools {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string output = std::string(kStandardFile);
  bool json = false;
};

struct Selection {
  std::map<std::string, std::set<std::string>> operators;  // with a portable kernel; dtypes of their tensors
  std::set<std::string> others;                            // operators of the core, and unknown ones
  std::set<std::string> delegates;
};

void add_dtypes(const format::MethodView& method, std::span<const int32_t> values,
                std::set<std::string>& dtypes) {
  for (const int32_t index : values) {
    if (index < 0) continue;  // none, in a list
    const format::ValueView value = method.value(static_cast<uint32_t>(index));
    if (value.kind() == format::ValueKind::kTensor)
      dtypes.emplace(to_text(static_cast<host::Dtype>(value.as_tensor().dtype)));
    if (value.kind() == format::ValueKind::kTensorList ||
        value.kind() == format::ValueKind::kOptionalTensorList)
      add_dtypes(method, value.tensor_list(), dtypes);
  }
}

void add_method(const format::MethodView& method, const host::KernelRegistry& kernels, Selection& out) {
  for (uint32_t i = 0; i < method.delegate_count(); ++i) out.delegates.emplace(method.delegate(i).id());
  for (uint32_t chain = 0; chain < method.chain_count(); ++chain) {
    const format::ChainView instructions = method.chain(chain);
    for (uint32_t i = 0; i < instructions.instruction_count(); ++i) {
      const format::InstructionView instruction = instructions.instruction(i);
      if (instruction.kind != format::InstructionKind::kKernel) continue;
      const format::OperatorView op = method.op(instruction.a);
      const std::string name =
          std::string(op.name) + (op.overload.empty() ? "" : "." + std::string(op.overload));
      if (kernels.has_op(op.name, op.overload))
        add_dtypes(method, instruction.args, out.operators[name]);
      else
        out.others.insert(name);
    }
  }
}

Result<Selection> select(const std::vector<std::string>& files, Session& session) {
  host::KernelRegistry kernels;
  if (host::add_portable_kernels(kernels) != ETB_OK) return make_error(Code::INTERNAL, "portable kernels");
  Selection out;
  for (const std::string& file : files) {
    ETB_ASSIGN(const std::string path, input_path(file, session));
    ETB_TRY(expect_kind(path, {FileKind::kProgram, FileKind::kBundle}, "a program (.pte or .bpte)"));
    ETB_ASSIGN(const ProgramFile program, read_program_file(path));
    for (uint32_t i = 0; i < program.view.method_count(); ++i)
      add_method(program.view.method(i), kernels, out);
  }
  return out;
}

std::set<std::string> dtypes_of(const Selection& selection) {
  std::set<std::string> out;
  for (const auto& [op, dtypes] : selection.operators) out.insert(dtypes.begin(), dtypes.end());
  return out;
}

std::string join(const std::set<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ", ") + item;
  return out;
}

std::string to_yaml(const Selection& selection) {
  std::string out = "# Written by etbackend select; read by etb_add_runtime(... OPS).\noperators:\n";
  for (const auto& [op, dtypes] : selection.operators) out += "  " + op + ": [" + join(dtypes) + "]\n";
  out += "dtypes: [" + join(dtypes_of(selection)) + "]\n";
  out += "# Operators of the core, or without a portable kernel:\nothers: [" + join(selection.others) + "]\n";
  if (!selection.delegates.empty()) out += "delegates: [" + join(selection.delegates) + "]\n";
  return out;
}

nlohmann::ordered_json to_json(const Selection& selection) {
  nlohmann::ordered_json out;
  out["operators"] = selection.operators;
  out["dtypes"] = dtypes_of(selection);
  out["others"] = selection.others;
  out["delegates"] = selection.delegates;
  return out;
}

Result<ExitCode> run(const Options& options, Session& session) {
  ETB_ASSIGN(const Selection selection, select(options.files, session));
  if (options.json)
    print_json(to_json(selection), session.out);
  else
    ETB_TRY(write_output(options.output, to_yaml(selection), session));
  return ExitCode::OK;
}

}  // namespace

void register_select(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "select", "List the operators and dtypes of programs, to build a run time with these kernels only");
  command->add_option("FILE", options->files, "Programs (.pte, .bpte), - for standard input")->required();
  auto* const output =
      command->add_option("-o,--output", options->output, "List to write (YAML), - for standard output")
          ->capture_default_str();
  command->add_flag("--json", options->json, "Print the list as JSON")->excludes(output);
  run_as(command, session, [options, &session] { return run(*options, session); });
}

}  // namespace etb::tools
