// SPDX-License-Identifier: Apache-2.0
// `etbackend diff A B --model MODEL.pt2`: compares two ways to compute a model, and finds the node that makes them
// differ.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "api/format/output_file.hpp"
#include "api/format/time_left.hpp"
#include "conformance/report/repro.hpp"
#include "tools/command.hpp"
#include "tools/command_facts.hpp"
#include "tools/compile/extensions.hpp"
#include "tools/diff/archive_values.hpp"
#include "tools/diff/command_comparator.hpp"
#include "tools/diff/output_sides.hpp"
#include "tools/diff/program_side.hpp"
#include "tools/diff/recorded_values.hpp"
#include "tools/diff/report.hpp"
#include "tools/diff/repro.hpp"
#include "tools/file_kind.hpp"
#include "tools/option_values.hpp"
#include "tools/plugin_registry.hpp"
#include "tools/progress.hpp"
#include "tools/quantity.hpp"
#include "tools/run/input_options.hpp"
#include "tools/standard_files.hpp"

namespace etb::tools {
namespace {

struct Options {
  std::string a, b;
  std::string archive;
  InputOptions inputs;
  std::string input_shapes;
  ExtensionOptions extensions;
  std::vector<std::string> kernel_libraries;
  std::vector<std::string> metrics;  // NAME=COMMAND
  std::string save_folder, values_folder;
  std::string tsv;  // file
  std::string gap = "mse";
  std::string debug_buffer, record;  // beside a profile
  uint32_t test_case = 0;
  uint32_t top = 10;
  uint32_t timeout_s = 60;
  bool each_node = false, borders_only = false, all = false, json = false, in_process = false;
  bool representative_inputs = false;
};

bool has_input_options(const InputOptions& inputs) {
  return inputs.random_seed || inputs.ones || !inputs.inputs.empty() || !inputs.input_list.empty();
}

std::string describe_inputs(const InputOptions& inputs, bool has_stored) {
  if (inputs.random_seed) return fmt::format("random inputs of seed {}", *inputs.random_seed);
  if (!inputs.inputs.empty() || !inputs.input_list.empty()) return "inputs of the command line";
  return has_stored && !inputs.ones ? "inputs of the file" : "inputs of ones";
}

// Sets the inputs that a record or a bundled program has.
Status set_stored(const std::vector<diff::StoredInput>& stored, MethodInputs& inputs) {
  if (stored.size() != inputs.count())
    return make_error(Code::INVALID_DATA, fmt::format("the file has {}, the model expects {}",
                                                      count_of(stored.size(), "input"), inputs.count()));
  for (uint32_t i = 0; i < inputs.count(); ++i) {
    const auto* const array = std::get_if<Array>(&stored[i]);
    ETB_TRY(array != nullptr ? inputs.set_array(i, *array)
                             : inputs.set_number(i, std::get<host::EValue>(stored[i])));
  }
  return {};
}

Result<std::vector<diff::Comparator>> parse_metrics(const std::vector<std::string>& texts) {
  std::vector<diff::Comparator> out;
  for (const std::string& text : texts) {
    ETB_ASSIGN(diff::Comparator one, diff::parse_comparator(text));
    out.push_back(std::move(one));
  }
  return out;
}

// Chooses the graph of a record, the quantised one of two archives, or else the second one.
Status choose_model(Options& options) {
  if (!options.archive.empty()) return {};
  for (const std::string& file : {options.record, options.a, options.b})
    if (!file.empty() && find_file_kind(file) == FileKind::kRecord) {
      options.archive = file;
      return {};
    }
  for (const std::string& side : {options.a, options.b})
    if (find_file_kind(side) != FileKind::kArchive)
      return make_error(
          Code::INVALID_ARGUMENT,
          "'" + side +
              "' is no archive: --model MODEL.pt2 is required, except for two archives and for a record with "
              "weights");
  ETB_ASSIGN(const bool is_first, diff::is_quantised_and_other_is_not(options.a, options.b));
  options.archive = is_first ? options.a : options.b;
  return {};
}

struct Sides {
  diff::OpenedSide a, b;

  // Inputs that one of them stores.
  const std::vector<diff::StoredInput>& inputs() const { return a.inputs.empty() ? b.inputs : a.inputs; }
};

Result<Sides> open_sides(const Options& options, const Session& session) {
  diff::SideOptions side;
  side.registry = registry_options(session);
  side.kernel_libraries = options.kernel_libraries;
  side.is_isolated = !options.in_process;
  side.timeout_ms = uint64_t{options.timeout_s} * 1000;
  Sides out;
  for (const auto& [text, opened] : {std::pair(&options.a, &out.a), std::pair(&options.b, &out.b)}) {
    if (*text == options.archive && find_file_kind(*text) == FileKind::kArchive) {
      opened->side = diff::Side::of_model(*text);
      continue;
    }
    ETB_ASSIGN(*opened, diff::open_side(*text, side, options.test_case));
  }
  if (options.representative_inputs) {
    ETB_ASSIGN(out.a.inputs, diff::read_representative_inputs(options.record));
  }
  return out;
}

diff::ModelOptions model_options(const Options& options, const Extensions& extensions) {
  diff::ModelOptions model;
  model.extensions = &extensions;
  model.kernel_libraries = options.kernel_libraries;
  return model;
}

// `inputs` owns the tensors that the model refers to.
Result<diff::Model> open_model(const Options& options, diff::ModelOptions& model, const Sides& sides,
                               std::unique_ptr<MethodInputs>& inputs) {
  for (const diff::Side* side : {sides.a.side.get(), sides.b.side.get()}) {
    model.preserved_ops.insert(side->preserved_ops().begin(), side->preserved_ops().end());
    model.keeps_quantized_constants |=
        side->kind() == diff::SideKind::kPlugins || side->kind() == diff::SideKind::kArchive;
  }
  ETB_ASSIGN(diff::Model out, diff::Model::open(options.archive, model));
  const auto set_inputs = [&](const host::MethodMeta& meta) -> Result<std::vector<host::EValue>> {
    inputs = std::make_unique<MethodInputs>(meta);
    const bool uses_stored = !sides.inputs().empty() && !has_input_options(options.inputs);
    ETB_TRY(uses_stored ? set_stored(sides.inputs(), *inputs)
                        : fill_inputs(options.inputs, options.input_shapes, "forward", *inputs));
    return std::vector<host::EValue>(inputs->values().begin(), inputs->values().end());
  };
  ETB_TRY(out.run(set_inputs));
  return out;
}

Result<diff::RecordedValues> values_of_archive(const diff::Model& model, const std::string& archive,
                                               const diff::ModelOptions& options) {
  diff::RecordedValues out;
  ETB_ASSIGN(out.values, diff::read_archive_values(model, archive, options));
  return out;
}

// Reads the tensors of profiles and of other archives. Nodes then read them instead of those of the run node by node.
Status read_recordings(const Options& options, const diff::ModelOptions& model_options, Sides& sides,
                       diff::Model& model) {
  for (diff::Side* side : {sides.a.side.get(), sides.b.side.get()}) {
    if (!side->is_recorded()) continue;
    const bool is_archive = side->kind() == diff::SideKind::kArchive;
    ETB_ASSIGN(auto values, is_archive ? values_of_archive(model, side->name(), model_options)
                                       : diff::read_recorded_values(
                                             model, {side->name(), options.debug_buffer, options.record}));
    model.replace_values(values.values);
    side->set_recording(std::move(values.values), std::move(values.instructions));
  }
  return {};
}

// Saves each location. Constants may be too large for a file that `verify --replay` reads.
Status save(const Options& options, const diff::SearchResult& result, diff::ReportContext& context,
            Session& session) {
  const diff::Comparison& by = result.located_by(context.comparison);
  for (const diff::Location& location : result.locations) {
    std::string& file = context.repros.emplace_back();
    std::string& command = context.commands.emplace_back();
    if (options.save_folder.empty()) continue;
    const Result<std::string> saved = diff::save_repro(by, location, options.save_folder);
    if (!saved && saved.error().code == Code::ACCESS_FAILED) return tl::make_unexpected(saved.error());
    if (!saved) {
      session.err << "note: the nodes were not saved: " << saved.error().message << '\n';
      continue;
    }
    file = *saved;
    const diff::Side& side = by.b().plugin().empty() ? by.a() : by.b();
    if (side.plugin().empty()) continue;
    command = "etbackend";
    for (const std::string& path : session.plugin_paths)
      command += " --plugin-path " + conformance::quoted(path);
    command += " verify " + conformance::quoted(side.plugin()) + " --replay " + conformance::quoted(file);
  }
  return {};
}

// Writes the tensors of both sides for each result, in the order of the report's results.
Status save_values(const std::string& folder, const diff::SearchResult& result) {
  if (folder.empty()) return {};
  ETB_TRY(conformance::make_folder(folder));
  size_t index = 0;
  for (const diff::NodesComparison& block : result.blocks)
    for (const diff::ResultComparison& one : block.results) {
      const std::string place = fmt::format("{}/{}", folder, index++);
      if (!one.metrics) continue;
      ETB_TRY(diff::write_array(place + ".a.npy", one.a.value));
      ETB_TRY(diff::write_array(place + ".b.npy", one.b.value));
    }
  return {};
}

Result<ExitCode> run(Options options, Session& session) {
  ETB_ASSIGN(
      const bool has_document,
      uses_standard_output({{"--tsv", options.tsv}, {"--json", options.json ? kStandardFile : ""}}, session));
  if (!options.tsv.empty() && options.tsv != kStandardFile) ETB_TRY(format::expect_writable(options.tsv));
  if (!options.save_folder.empty()) ETB_TRY(conformance::make_folder(options.save_folder));
  if (options.representative_inputs && has_input_options(options.inputs))
    return make_error(Code::INVALID_ARGUMENT,
                      "--representative-inputs uses the inputs of the record: found other inputs, too (--input, "
                      "--random or --ones)");
  ETB_TRY(choose_model(options));
  ETB_ASSIGN(options.archive, input_path(options.archive, session));
  ETB_TRY(expect_kind(options.archive, {FileKind::kArchive, FileKind::kRecord},
                      "an archive of torch.export.save (.pt2), or a record with weights (.etrecord)"));
  ETB_ASSIGN(std::vector<diff::Comparator> comparators, parse_metrics(options.metrics));
  std::vector<std::string> comparator_names;
  for (const diff::Comparator& one : comparators) comparator_names.push_back(one.name);
  ETB_ASSIGN(Sides sides, open_sides(options, session));
  ETB_ASSIGN(const Extensions extensions, Extensions::open(options.extensions));
  std::unique_ptr<MethodInputs> inputs;
  diff::ModelOptions of_model = model_options(options, extensions);
  ETB_ASSIGN(diff::Model model, open_model(options, of_model, sides, inputs));
  ETB_TRY(read_recordings(options, of_model, sides, model));
  const diff::Comparison comparison(model, *sides.a.side, *sides.b.side,
                                    {std::move(comparators), options.inputs.random_seed.value_or(0)});
  Progress progress(session.quiet);
  const auto start = std::chrono::steady_clock::now();
  ETB_ASSIGN(
      diff::SearchResult result,
      diff::search(comparison, {{options.each_node}, options.borders_only, options.all},
                   [&](size_t done, size_t count) {
                     const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
                     progress.show_often(fmt::format("compared {} of {}{}", done, count_of(count, "block"),
                                                     format::time_left_text(elapsed.count(), done, count)));
                   }));
  progress.erase();
  if (result.locations.empty()) diff::locate_in_program(model, comparison, result);
  diff::ReportContext context{comparison,
                              with_input_named(options.archive, session),
                              describe_inputs(options.inputs, !sides.inputs().empty()),
                              comparator_names,
                              {},
                              {}};
  ETB_TRY(save(options, result, context, session));
  ETB_TRY(save_values(options.values_folder, result));
  if (!options.tsv.empty())
    ETB_TRY(write_output(options.tsv, diff::to_tsv(context, result, options.gap), session));
  if (options.json)
    print_json(diff::to_json(context, result), session.out);
  else
    (has_document ? session.err : session.out) << diff::to_text(context, result, options.top);
  return result.has_divergence() ? ExitCode::NEGATIVE : ExitCode::OK;
}

}  // namespace

void register_diff(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "diff", "Compare two ways to compute a model, and find the first node that diverges");
  const std::string side =
      "eager (node by node on portable kernels), portable, real (a quantised model without rounding to "
      "codes), plugins joined by +, or a plugin's path";
  command->add_option("A", options->a, "One side: " + side)->required();
  command->add_option("B", options->b, "The other side, as A")->required();
  command
      ->add_option("--model", options->archive,
                   "Archive of torch.export.save, or a record with weights; - for standard input; not needed "
                   "if A and B "
                   "are archives, or with such a record")
      ->type_name("MODEL.pt2");
  add_input_options(*command, options->inputs);
  command
      ->add_option(
          "--input-shapes", options->input_shapes,
          "Sizes of dynamic inputs, one entry per input, empty for the largest sizes, such as 1x98,,2x3")
      ->type_name("SHAPE,...");
  add_extension_options(*command, options->extensions);
  command
      ->add_option("--kernels", options->kernel_libraries,
                   "Shared library with kernels of custom ops; repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      ->add_option("--metric", options->metrics,
                   "Further distance: COMMAND A.npy B.npy prints a number for each result; repeatable")
      ->type_name("NAME=COMMAND")
      ->allow_extra_args(false);
  command->add_option("--debug-buffer,--debug_buffer_path", options->debug_buffer, "Tensors of a profile")
      ->type_name("FILE");
  command->add_option("--etrecord", options->record, "Record of the compilation, for a profile")
      ->type_name("FILE");
  command->add_flag("--representative-inputs", options->representative_inputs,
                    "Use the inputs that the record of --etrecord has");
  command->add_option("--testset", options->test_case, "Index of the test case, for a bundled program")
      ->check(whole_number(0, UINT32_MAX))
      ->type_name("INDEX");
  command->add_flag("--each-node", options->each_node,
                    "Compare each node alone, instead of regions and runs of nodes");
  command->add_flag("--borders-only", options->borders_only,
                    "Do not compare the nodes inside of regions whose results are right");
  command->add_flag("--all", options->all, "Find the node of every difference, not only the first");
  command
      ->add_option("--save", options->save_folder,
                   "Save the nodes found with their inputs to this folder, for verify --replay")
      ->type_name("FOLDER");
  command
      ->add_option("--save-values", options->values_folder,
                   "Save the tensors of result N of the report to this folder, as N.a.npy and N.b.npy")
      ->type_name("FOLDER");
  command->add_option("--top", options->top, "Rows of the table, those with the largest errors; 0: all")
      ->check(whole_number(0, UINT32_MAX))
      ->capture_default_str();
  command
      ->add_option("--tsv", options->tsv,
                   "Write the table of ExecuTorch's numeric gap, - for standard output")
      ->type_name("FILE");
  command->add_option("--gap", options->gap, "Metric in the column gap of --tsv")
      ->check(one_of(diff::metric_names()))
      ->capture_default_str();
  command
      ->add_option("--timeout", options->timeout_s,
                   "Limit for a plugin to compile and run a block; 0: none. It runs in a child process, "
                   "whose end is reported")
      ->check(whole_number(0, UINT32_MAX))
      ->type_name("SECONDS")
      ->capture_default_str();
  command->add_flag("--in-process", options->in_process,
                    "Run plugins in this process, without isolation, for a debugger");
  command->add_flag("--json", options->json, "Print one JSON object");
  run_as(command, session, [options, &session] { return run(*options, session); });
}

}  // namespace etb::tools
