// SPDX-License-Identifier: Apache-2.0
// `etbackend graph FILE`: converts a graph image to text and back, or prints a torch.export archive at any
// stage of the compiler.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/format/graph_text.hpp"
#include "api/format/graph_verifier.hpp"
#include "api/format/input_file.hpp"
#include "api/format/output_file.hpp"
#include "partitioner_sdk/import/import.hpp"
#include "partitioner_sdk/ir/text.hpp"
#include "partitioner_sdk/partition/method_image.hpp"
#include "partitioner_sdk/passes/passes.hpp"
#include "partitioner_sdk/passes/pipeline.hpp"
#include "tools/command.hpp"
#include "tools/compile/extensions.hpp"
#include "tools/file_kind.hpp"
#include "tools/option_values.hpp"
#include "tools/page_facts.hpp"
#include "tools/portable_program.hpp"
#include "tools/portable_target.hpp"
#include "tools/program_info/graph_outputs.hpp"
#include "tools/standard_files.hpp"

namespace etb::tools {
namespace {

struct GraphOptions {
  std::string file;
  std::string after;  // a pass of the compiler, for an archive
  std::string model;
  ExtensionOptions extensions;
  std::string output;
  GraphOutputs pages;
  uint64_t max_data_bytes = UINT64_MAX;
  bool checks_digests = false;
  bool json = false;
};

// A flatbuffer ends at 2 GiB; larger texts are rejected, too.
constexpr uint64_t kMaxGraphNbytes = uint64_t{2} << 30;

bool is_image(std::string_view bytes) { return bytes.size() >= 8 && bytes.substr(4, 4) == "ETG1"; }

Result<graph::ImageBytes> to_image(std::string_view bytes) {
  if (!is_image(bytes)) return graph::parse_graph_text(bytes);
  graph::ImageBytes image({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  ETB_TRY(graph::verify_graph_image(image.span()));
  return image;
}

bool wants_image(const GraphOptions& options) {
  const std::string_view name = options.output;
  return name.size() >= 4 && name.substr(name.size() - 4) == ".etg";
}

Status write_text(const GraphOptions& options, const std::string& text, Session& session) {
  if (options.json) {
    nlohmann::ordered_json report{{"file", with_input_named(options.file, session)},
                                  {"after", options.after}};
    if (options.output.empty()) {
      report["text"] = text;
    } else {
      ETB_TRY(format::write_file(options.output, text));
      report["output"] = options.output;
      report["nbytes"] = text.size();
    }
    session.out << report.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) << '\n';
    return {};
  }
  if (options.output.empty()) {
    session.out << text;
    return {};
  }
  return write_output(options.output, text, session);
}

Result<ExitCode> write_image(const GraphOptions& options, const graph::ImageBytes& image, Session& session) {
  if (wants_image(options)) {
    const auto* bytes = reinterpret_cast<const char*>(image.span().data());
    ETB_TRY(write_text(options, std::string(bytes, image.span().size()), session));
    return ExitCode::OK;
  }
  ETB_ASSIGN(const graph::View view, graph::View::open(image.span()));
  graph::PrintOptions print;
  print.max_data_bytes = options.max_data_bytes;
  print.max_text_bytes = 64 * image.span().size() + (uint64_t{1} << 24);  // a valid image needs a tenth
  ETB_TRY(write_text(options, graph::print_graph_image(view, print), session));
  return ExitCode::OK;
}

Result<graph::ImageBytes> to_image(ir::Module& module) {
  ETB_TRY(partition::check_expressible(module));
  partition::ConstantKeys keys(partition::ConstantDigests::kSha256);
  ETB_ASSIGN(partition::MethodImage method, partition::make_method_image(module, keys));
  return std::move(method.image);
}

// Records the image or text after the last run of the requested pass.
struct Stages {
  std::string wanted;
  bool wants_image = false;
  bool wants_page = false;
  pages::Facts facts = {};
  std::optional<ModelPage> page = {};
  std::string text = {};
  std::optional<Result<graph::ImageBytes>> image = {};

  void take(std::string_view pass, ir::Module& module) {
    if (pass != wanted) return;
    if (wants_page) page = archive_page(module, facts, 0);
    if (wants_image) {
      image = to_image(module);
    } else {
      text = ir::print(module, {.has_sources = true});
    }
  }
};

// Text is printed only without these files, unless -o requests it.
bool prints_text(const GraphOptions& options) {
  return !options.pages.any() || !options.output.empty() || options.json;
}

Status write_pages(const GraphOptions& options, const ModelPage& page, Session& session) {
  ETB_TRY(write_graph_outputs(options.pages, page, options.file, session));
  if (prints_text(options)) return {};
  for (const std::string* file : {&options.pages.html, &options.pages.dot, &options.pages.model_explorer})
    if (!file->empty() && *file != kStandardFile)
      session.err << "wrote " << format::made_printable(*file) << '\n';
  return {};
}

// Names of the stages that --after prints. Stages of rules run only where there are any.
Status check_stage(const GraphOptions& options) {
  if (options.after.empty()) return {};
  std::vector<std::string> names{"import"};
  for (const std::string_view name : passes::pass_names())
    if (!options.extensions.rule_files.empty() || !name.starts_with("rules_")) names.emplace_back(name);
  names.emplace_back("image");
  if (std::find(names.begin(), names.end(), options.after) != names.end()) return {};
  return tl::make_unexpected(unknown_value("--after", options.after, names));
}

// Runs the passes that `compile` runs without plugins. "image" is the image that plugins would see.
Result<ExitCode> run_archive(const GraphOptions& options, Session& session) {
  ETB_TRY(check_stage(options));
  ETB_ASSIGN(const Extensions extensions, Extensions::open(options.extensions));
  ETB_ASSIGN(ir::Module module, pt2::import_archive(options.file, {options.model, extensions.custom_ops()}));
  Stages stages{options.after.empty() ? "import" : options.after, wants_image(options)};
  stages.wants_page = options.pages.any();
  stages.facts = page_facts(with_input_named(options.file, session), session);
  stages.take("import", module);
  passes::PipelineOptions pipeline = portable_pipeline();
  pipeline.decompose.formulas = options.extensions.formulas;
  pipeline.rules = extensions.rules();
  // The pass is an option of `compile`.
  pipeline.uses_integer_kernels = stages.wanted == "integer_kernels";
  if (pipeline.uses_integer_kernels) pipeline.quantized_constants = passes::QuantizedConstants::kKeep;
  pipeline.after_pass = [&](std::string_view pass, ir::Module& now) { stages.take(pass, now); };
  ETB_TRY(passes::to_edge(module, pipeline));
  ETB_TRY(passes::simplify(module, pipeline));
  if (stages.wanted == "image") {
    ETB_TRY(passes::make_row_major(module));
    stages.take("image", module);
    if (stages.page) ETB_TRY(write_pages(options, *stages.page, session));
    if (!prints_text(options)) return ExitCode::OK;
    partition::ConstantKeys keys(partition::ConstantDigests::kSha256);
    ETB_ASSIGN(const partition::MethodImage method, partition::make_method_image(module, keys));
    return write_image(options, method.image, session);
  }
  ETB_TRY(passes::to_portable(module, pipeline));
  if (stages.text.empty() && !stages.image)
    return make_error(Code::INVALID_ARGUMENT,
                      "--after: the pass '" + stages.wanted + "' does not run for this model");
  if (stages.page) ETB_TRY(write_pages(options, *stages.page, session));
  if (!prints_text(options)) return ExitCode::OK;
  if (stages.image) {
    if (!*stages.image)
      return tl::make_unexpected(with_context(stages.image->error(), "no image after " + stages.wanted));
    return write_image(options, **stages.image, session);
  }
  ETB_TRY(write_text(options, stages.text, session));
  return ExitCode::OK;
}

// Rejects options of archives: they would have no effect on a graph.
Status expect_no_archive_options(const GraphOptions& options) {
  for (const auto& [option, value] :
       {std::pair("--after", &options.after), std::pair("--model", &options.model)})
    if (!value->empty())
      return make_error(Code::INVALID_ARGUMENT, std::string(option) + " needs an archive (.pt2), found " +
                                                    describe_file_kind(find_file_kind(options.file)));
  return {};
}

// A module's text, which `--after` writes.
Result<ExitCode> run_module_text(const GraphOptions& options, std::string_view text, Session& session) {
  auto module = ir::parse(text, {.needs_data = wants_image(options)});
  if (!module) return tl::make_unexpected(with_context(std::move(module).error(), options.file));
  ETB_TRY(expect_no_archive_options(options));
  if (options.pages.any())
    ETB_TRY(write_pages(options, archive_page(*module, page_facts(options.file, session), 0), session));
  if (!prints_text(options)) return ExitCode::OK;
  if (wants_image(options)) {
    ETB_ASSIGN(const graph::ImageBytes image, to_image(*module));
    return write_image(options, image, session);
  }
  ETB_TRY(write_text(options, ir::print(*module, {.has_sources = true}), session));
  return ExitCode::OK;
}

Status as_status(const Result<bool>& result) {
  if (!result) return tl::make_unexpected(result.error());
  return {};
}

// The compiler's graph of an image is read from its text.
Status write_image_pages(const GraphOptions& options, const graph::ImageBytes& image, Session& session) {
  ETB_ASSIGN(const graph::View view, graph::View::open(image.span()));
  graph::PrintOptions print;
  print.max_data_bytes = 0;
  print.max_text_bytes = 64 * image.span().size() + (uint64_t{1} << 24);
  auto module = ir::parse(graph::print_graph_image(view, print));
  if (!module) return tl::make_unexpected(with_context(std::move(module).error(), options.file));
  return write_pages(options, archive_page(*module, page_facts(options.file, session), 0), session);
}

Result<ExitCode> run_graph(GraphOptions options, Session& session) {
  ETB_ASSIGN(options.file, input_path(options.file, session));
  ETB_TRY(as_status(uses_standard_output({{"-o", options.output},
                                          {"--html", options.pages.html},
                                          {"--dot", options.pages.dot},
                                          {"--model-explorer", options.pages.model_explorer},
                                          {"--json", options.json ? kStandardFile : ""}},
                                         session)));
  ETB_TRY(expect_kind(options.file,
                      {FileKind::kGraphImage, FileKind::kGraphText, FileKind::kText, FileKind::kArchive},
                      "a graph image (.etg), its text, or an archive (.pt2)"));
  if (is_archive(options.file)) return run_archive(options, session);
  ETB_ASSIGN(const std::string bytes, format::read_file_text(options.file, kMaxGraphNbytes));
  if (ir::is_module_text(bytes)) return run_module_text(options, bytes, session);
  auto image = to_image(bytes);
  if (!image) return tl::make_unexpected(with_context(std::move(image).error(), options.file));
  ETB_TRY(expect_no_archive_options(options));
  if (options.checks_digests) ETB_TRY(graph::verify_constant_digests(image->span()));
  if (options.pages.any()) ETB_TRY(write_image_pages(options, *image, session));
  if (!prints_text(options)) return ExitCode::OK;
  return write_image(options, *image, session);
}

}  // namespace

void register_graph(CLI::App& app, Session& session) {
  auto options = std::make_shared<GraphOptions>();
  CLI::App* command = app.add_subcommand(
      "graph", "Print a graph image (.etg), or an archive (.pt2) at any stage of its compilation");
  command
      ->add_option(
          "FILE", options->file,
          "Image, text of an image or of a stage, or archive, - for standard input; the bytes decide")
      ->required();
  command
      ->add_option("-o,--output", options->output,
                   "Write to this file, - for standard output: an image if the name ends in .etg, else text")
      ->type_name("FILE");
  command->add_option("--max-data", options->max_data_bytes, "Omit inline data of more than this many bytes")
      ->check(whole_number(0, UINT64_MAX))
      ->type_name("BYTES");
  command->add_option("--after", options->after,
                      "Print an archive after this pass (default: import; decompose, ...), or the image that "
                      "plugins receive (image)");
  command->add_option("--model", options->model, "Name of the model in an archive with several");
  add_graph_outputs(*command, options->pages, "the graph, instead of its text");
  add_extension_options(*command, options->extensions);
  command->add_flag("--json", options->json, "Print one JSON object with the text, or with the file of -o");
  command->add_flag("--digests", options->checks_digests, "Check inline data against its digests");
  run_as(command, session, [options, &session] { return run_graph(*options, session); });
}

}  // namespace etb::tools
