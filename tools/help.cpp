// SPDX-License-Identifier: Apache-2.0
#include "tools/help.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <sstream>

namespace etb::tools {
namespace {

struct Row {
  const char* name;
  const char* text;
};

constexpr Row kCommandGroups[] = {
    {"run", "Run programs"},
    {"bench", "Run programs"},
    {"info", "Run programs"},
    {"inspect", "Run programs"},
    {"compare", "Run programs"},
    {"diff", "Run programs"},
    {"size", "Run programs"},
    {"diff-program", "Run programs"},
    {"compile", "Make programs"},
    {"bundle", "Make programs"},
    {"select", "Make programs"},
    {"bind", "Make programs"},
    {"graph", "Make programs"},
    {"list", "Find plugins"},
    {"explain", "Find plugins"},
    {"new", "Write plugins"},
    {"verify", "Write plugins"},
    {"replay", "Write plugins"},
    {"help", "About this program"},
    {"completion", "About this program"},
    {"exit-codes", "About this program"},
};

// Options by group. One that is in no row stays in "Options".
constexpr Row kOptionGroups[] = {
    {"Inputs",
     "--etrecord_path --debug_buffer_path --input --inputs --random --ones --input-shapes --data --method "
     "--model --bound --constant"},
    {"Outputs",
     "--output --output-dir --output-file --print-output --external-data --etrecord --json --format "
     "--csv --tsv --tsv_path --perfetto --markdown --html --dot --model-explorer --report --report-json "
     "--report-html --junit "
     "--sarif "
     "--coverage --results "
     "--save --times --dump-after"},
    {"Plugins",
     "--plugin-path --secure --backend --backend-pin --backend-option --device --async --kernels --layer "
     "--compile-spec --target --target-dir --isolate --plugin-timeout-ms --sanitizer-host --strict --plugin "
     "--from"},
    {"Choice of nodes",
     "--only-op --skip-op --only-module --skip-module --only-node --skip-node --min-region"},
    {"Test cases", "--bundle --testset --rtol --atol --case --expect --expect-from --list --extract"},
    {"Operators", "--custom-op --rules --decompose --allow-missing-kernels"},
    {"Limits",
     "--timeout-ms --max-memory --memory --max-instructions --deadline-ms --case-timeout-ms "
     "--check-timeout-ms "
     "--minimise-time --max-time"},
    {"Recording",
     "--profile-level --profile-filter --profile-ids --profile-memory --debug-buffer --debug-level "
     "--debug-filter --debug-ids --debug-widen --debug-buffer-size --dump_outputs "
     "--dump_intermediate_outputs"},
    {"Measurement",
     "--repeat --skip --by --top --metric --gap --each-node --borders-only --block --total-for "
     "--compare_results --source_time_scale "
     "--target_time_scale --warmup --warmup-time --threads --cpu_threads --min-time --samples --against "
     "--fail-if-slower "
     "--profile --parallel"},
    {"General", "--help --version --config --no-config --color --quiet --verbose"},
};

constexpr Row kExamples[] = {
    {"run", "etbackend run model.pte                        # all inputs are ones"},
    {"run", "etbackend run model.pte --input x.npy --output-dir out"},
    {"run", "etbackend run model.pte --random 7 --repeat 100 --threads 0"},
    {"run", "etbackend run model.pte --backend-pin XnnpackBackend=xnnpack --json"},
    {"run", "etbackend run model.bpte --rtol 1e-3 --atol 1e-5   # test cases, written by etbackend bundle"},
    {"run", "etbackend run model.pte --profile run.etdp --debug-buffer run.bin"},
    {"bench", "etbackend bench model.pte --threads 1,2"},
    {"bench", "etbackend bench new.pte --against old.pte"},
    {"compile", "etbackend compile model.pt2 -o model.pte      # portable kernels only"},
    {"compile", "etbackend compile model.pt2 -b xnnpack -o model.pte --report"},
    {"compile", "etbackend compile model.pt2 -b xnnpack --skip-op 'aten.softmax*' -o model.pte"},
    {"bundle", "etbackend bundle model.pte --input x.npy --expect y.npy -o model.bpte"},
    {"bundle",
     "etbackend bundle model.pte --random 1 --case --random 2 --expect-from eager --model model.pt2 -o "
     "model.bpte"},
    {"bundle", "etbackend bundle model.bpte --list"},
    {"info", "etbackend info model.pte                       # methods, operators, memory"},
    {"info", "etbackend info xnnpack                         # a plugin's manifest and state"},
    {"info", "etbackend info model.pte --html model.html       # graph, memory and weights as a page"},
    {"inspect",
     "etbackend inspect run.etdp --top 10              # recorded by etbackend run --profile run.etdp"},
    {"inspect", "etbackend inspect run.etdp --by op --skip 1"},
    {"inspect", "etbackend inspect run.etdp --etrecord model.etrecord --by line --top 10"},
    {"inspect", "etbackend inspect new.etdp --against old.etdp"},
    {"inspect", "etbackend inspect run.etdp --perfetto trace.json"},
    {"inspect", "etbackend inspect run.etdp --html run.html       # timeline, flame and hot lines as a page"},
    {"compare", "etbackend compare old.html new.html -o compare.html"},
    {"diff", "etbackend diff eager xnnpack --model model.pt2 --random 7 --save found"},
    {"diff", "etbackend diff portable ./build/plugins.d/my_npu.json --model model.pt2"},
    {"diff", "etbackend diff eager my_npu --model model.pt2 --each-node --tsv gap.tsv"},
    {"size",
     "etbackend size model.pte                       # parts, modules, operators, constants, duplicates"},
    {"size", "etbackend size model.pt2 --by module --depth 2"},
    {"size", "etbackend size model.pte --model model.pt2 --csv"},
    {"diff-program", "etbackend diff-program old.pte new.pte         # exit code 1 if they differ"},
    {"select", "etbackend select model.pte -o ops.yaml    # for etb_add_runtime(OPS ops.yaml)"},
    {"bind", "etbackend bind my_ops.yaml -o my_ops.cpp      # then compile my_ops.cpp for run --kernels"},
    {"graph", "etbackend graph model.pt2 --after decompose"},
    {"graph", "etbackend graph region.etg"},
    {"graph", "etbackend graph model.pt2 --after decompose --html model.html"},
    {"list", "etbackend list --places                        # and every folder searched"},
    {"list", "etbackend list --devices"},
    {"list", "etbackend list --ops xnnpack                    # what its plugin can compile"},
    {"explain",
     "etbackend explain XnnpackBackend              # which plugin serves this delegate id, and why"},
    {"explain", "etbackend explain my_npu --json"},
    {"new", "etbackend new my_npu                           # in C++"},
    {"new", "etbackend new my_npu --language c --path projects/my_npu"},
    {"verify", "etbackend verify xnnpack                      # some minutes"},
    {"verify", "etbackend verify ./build/plugins.d/my_npu.json --profile smoke"},
    {"verify", "etbackend verify xnnpack --case '*conv*' --html report.html"},
    {"replay",
     "etbackend replay run.etbt                      # recorded by etbackend run --layer trace=run.etbt"},
    {"replay",
     "etbackend replay compile.etbt run.etbt --plugin ./build/plugins.d/my_npu.json --tolerance model"},
    {"completion", "etbackend completion bash > ~/.local/share/bash-completion/completions/etbackend"},
    {"completion", "etbackend completion zsh > ~/.zfunc/_etbackend"},
    {"completion", "etbackend completion fish > ~/.config/fish/completions/etbackend.fish"},
    {"help", "etbackend help run"},
    {"exit-codes", "etbackend exit-codes"},
};

constexpr const char* kProgramExamples =
    "Examples:\n"
    "  etbackend compile model.pt2 -b xnnpack -o model.pte\n"
    "  etbackend run model.pte --random 7\n"
    "  etbackend verify xnnpack\n"
    "\n"
    "etbackend help COMMAND explains a command, etbackend exit-codes the exit codes.\n";

bool has_word(const char* words, const std::string& word) {
  std::istringstream in(words);
  for (std::string found; in >> found;)
    if (found == word) return true;
  return false;
}

void group_options(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_positional() && option->get_lnames().empty()) continue;
    for (const std::string& name : option->get_lnames()) {
      const auto* const row = std::find_if(std::begin(kOptionGroups), std::end(kOptionGroups),
                                           [&](const Row& r) { return has_word(r.text, "--" + name); });
      if (row != std::end(kOptionGroups)) option->group(row->name);
    }
  }
}

// Breaks a text into lines of at most `width` characters, at spaces.
std::vector<std::string> wrapped(const std::string& text, size_t width) {
  std::vector<std::string> lines(1);
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    std::string& last = lines.back();
    if (last.empty())
      last = word;
    else if (last.size() + 1 + word.size() <= width)
      last += ' ' + word;
    else
      lines.push_back(word);
  }
  return lines;
}

class HelpFormatter final : public CLI::Formatter {
 public:
  explicit HelpFormatter(size_t width) : width_(width) {}

  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string value = value_of(*option);
    return value.empty() ? "" : " " + value;
  }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    const std::string value = is_positional ? "" : make_option_opts(option);
    return two_columns("  " + make_option_name(option, is_positional) + value, make_option_desc(option));
  }

  // In the order of the groups, not of the registration.
  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode) const override {
    std::string text, last;
    const auto commands = app->get_subcommands([](const CLI::App*) { return true; });
    for (const Row& row : kCommandGroups) {
      const auto found = std::find_if(commands.begin(), commands.end(), [&](const CLI::App* command) {
        return command->get_name() == row.name;
      });
      if (found == commands.end()) continue;
      if (last != row.text) text += '\n' + std::string(row.text) + ":\n";
      last = row.text;
      text += make_subcommand(*found);
    }
    return text;
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return two_columns("  " + command->get_name(), command->get_description());
  }

  std::string make_description(const CLI::App* app) const override {
    std::string text;
    for (const std::string& line : wrapped(app->get_description(), width_)) text += line + '\n';
    return text;
  }

 private:
  std::string two_columns(const std::string& name, const std::string& description) const {
    const size_t column = std::min(get_column_width(), width_ / 2);
    std::string text = name;
    if (text.size() + 1 > column)
      text += '\n' + std::string(column, ' ');
    else
      text.resize(column, ' ');
    const size_t room = width_ > column + 20 ? width_ - column : 20;
    bool is_first = true;
    for (const std::string& line : wrapped(description, room)) {
      if (!is_first) text += std::string(column, ' ');
      text += line + '\n';
      is_first = false;
    }
    return text;
  }

  size_t width_;
};

}  // namespace

void arrange_help(CLI::App& app) {
  app.footer(kProgramExamples);
  group_options(app);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    group_options(*command);
    if (command->get_group().empty()) continue;  // hidden
    const auto* const row = std::find_if(std::begin(kCommandGroups), std::end(kCommandGroups),
                                         [&](const Row& r) { return command->get_name() == r.name; });
    if (row != std::end(kCommandGroups)) command->group(row->text);
    std::string footer = "Examples:\n";
    const std::vector<std::string> examples = examples_of(command->get_name());
    for (const std::string& example : examples) footer += "  " + example + '\n';
    command->footer(examples.empty() ? "" : footer);
  }
}

std::vector<std::string> examples_of(const std::string& command) {
  std::vector<std::string> examples;
  for (const Row& row : kExamples)
    if (command == row.name) examples.emplace_back(row.text);
  return examples;
}

std::string value_of(const CLI::Option& option) {
  if (option.get_positional() && option.get_lnames().empty() && option.get_snames().empty()) return "";
  std::string value = option.get_type_name();
  if (const size_t choices = value.find('{'); choices != std::string::npos) value.erase(0, choices);
  if (value.rfind("UINT", 0) == 0 || value.rfind("INT", 0) == 0) value = "N";
  if (value.empty()) return "";
  const std::string start = option.get_default_str();
  return value + (start.empty() ? "" : "=" + start);
}

std::shared_ptr<CLI::FormatterBase> help_formatter(size_t width) {
  return std::make_shared<HelpFormatter>(width);
}

}  // namespace etb::tools
