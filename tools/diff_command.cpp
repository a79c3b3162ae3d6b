// SPDX-License-Identifier: Apache-2.0
// `etbackend diff A B --model MODEL.pt2`: compares two ways to compute a model, and finds the node that makes them
// differ.
#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "api/format/output_file.hpp"
#include "conformance/report/repro.hpp"
#include "tools/command.hpp"
#include "tools/command_facts.hpp"
#include "tools/compile/extensions.hpp"
#include "tools/diff/command_comparator.hpp"
#include "tools/diff/output_sides.hpp"
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
  std::string save_folder;
  std::string tsv;  // file
  std::string gap = "mse";
  uint32_t top = 10;
  bool each_node = false, borders_only = false, all = false, json = false;
};

std::string describe_inputs(const InputOptions& inputs) {
  if (inputs.random_seed) return fmt::format("random inputs of seed {}", *inputs.random_seed);
  const bool has_files = !inputs.inputs.empty() || !inputs.input_list.empty();
  return has_files ? "inputs of the command line" : "inputs of ones";
}

Result<std::vector<diff::Comparator>> parse_metrics(const std::vector<std::string>& texts) {
  std::vector<diff::Comparator> out;
  for (const std::string& text : texts) {
    ETB_ASSIGN(diff::Comparator one, diff::parse_comparator(text));
    out.push_back(std::move(one));
  }
  return out;
}

// `inputs` owns the tensors that the model refers to.
Result<diff::Model> open_model(const Options& options, const Extensions& extensions, const diff::Side& a,
                               const diff::Side& b, std::unique_ptr<MethodInputs>& inputs) {
  diff::ModelOptions model;
  model.extensions = &extensions;
  model.kernel_libraries = options.kernel_libraries;
  for (const diff::Side* side : {&a, &b}) {
    ETB_ASSIGN(const std::vector<std::string> ops, side->preserved_ops());
    model.preserved_ops.insert(ops.begin(), ops.end());
    model.keeps_quantized_constants |= side->kind() == diff::SideKind::kPlugins;
  }
  ETB_ASSIGN(diff::Model out, diff::Model::open(options.archive, model));
  const auto set_inputs = [&](const host::MethodMeta& meta) -> Result<std::vector<host::EValue>> {
    inputs = std::make_unique<MethodInputs>(meta);
    ETB_TRY(fill_inputs(options.inputs, options.input_shapes, "forward", *inputs));
    return std::vector<host::EValue>(inputs->values().begin(), inputs->values().end());
  };
  ETB_TRY(out.run(set_inputs));
  return out;
}

// Saves each location. Constants may be too large for a file that `verify --replay` reads.
Status save(const Options& options, const diff::SearchResult& result, diff::ReportContext& context,
            Session& session) {
  const diff::Comparison& by = result.substituted ? *result.substituted : context.comparison;
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

Result<ExitCode> run(Options options, Session& session) {
  ETB_ASSIGN(
      const bool has_document,
      uses_standard_output({{"--tsv", options.tsv}, {"--json", options.json ? kStandardFile : ""}}, session));
  if (!options.tsv.empty() && options.tsv != kStandardFile) ETB_TRY(format::expect_writable(options.tsv));
  if (!options.save_folder.empty()) ETB_TRY(conformance::make_folder(options.save_folder));
  ETB_ASSIGN(options.archive, input_path(options.archive, session));
  ETB_TRY(expect_kind(options.archive, {FileKind::kArchive}, "an archive of torch.export.save (.pt2)"));
  ETB_ASSIGN(std::vector<diff::Comparator> comparators, parse_metrics(options.metrics));
  std::vector<std::string> comparator_names;
  for (const diff::Comparator& one : comparators) comparator_names.push_back(one.name);
  diff::SideOptions side;
  side.registry = registry_options(session);
  side.kernel_libraries = options.kernel_libraries;
  ETB_ASSIGN(const std::unique_ptr<diff::Side> a, diff::open_side(options.a, side));
  ETB_ASSIGN(const std::unique_ptr<diff::Side> b, diff::open_side(options.b, side));
  ETB_ASSIGN(const Extensions extensions, Extensions::open(options.extensions));
  std::unique_ptr<MethodInputs> inputs;
  ETB_ASSIGN(const diff::Model model, open_model(options, extensions, *a, *b, inputs));
  const diff::Comparison comparison(model, *a, *b,
                                    {std::move(comparators), options.inputs.random_seed.value_or(0)});
  Progress progress(session.quiet);
  ETB_ASSIGN(
      const diff::SearchResult result,
      diff::search(comparison, {{options.each_node}, options.borders_only, options.all},
                   [&](size_t done, size_t count) {
                     progress.show_often(fmt::format("compared {} of {}", done, count_of(count, "block")));
                   }));
  progress.erase();
  diff::ReportContext context{comparison,
                              with_input_named(options.archive, session),
                              describe_inputs(options.inputs),
                              comparator_names,
                              {},
                              {}};
  ETB_TRY(save(options, result, context, session));
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
  command->add_option("--model", options->archive, "Archive of torch.export.save; - for standard input")
      ->type_name("MODEL.pt2")
      ->required();
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
  command->add_flag("--each-node", options->each_node,
                    "Compare each node alone, instead of regions and runs of nodes");
  command->add_flag("--borders-only", options->borders_only,
                    "Do not compare the nodes inside of regions whose results are right");
  command->add_flag("--all", options->all, "Find the node of every difference, not only the first");
  command
      ->add_option("--save", options->save_folder,
                   "Save the nodes found with their inputs to this folder, for verify --replay")
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
  command->add_flag("--json", options->json, "Print one JSON object");
  run_as(command, session, [options, &session] { return run(*options, session); });
}

}  // namespace etb::tools
