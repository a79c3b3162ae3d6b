// SPDX-License-Identifier: Apache-2.0
// Compiles and runs PyTorch's operator samples as exported by export_samples.py, and compares with PyTorch's
// results.
//
//   program_samples DIR... [--backend NAME] [--plugins DIR] [--op TEXT] [--jobs N] [--seconds N] [--tsv FILE]
//                   [--docs FILE] [--expected FILE] [--official] [--list FILE] [--write-delegated FILE] [--fail-fast]
//
// Each sample is compiled by the command line's own code and runs in a child process. A verdict is one of
//   right     equal to PyTorch's results within the error model (compare.cpp)
//   wrong     a result differs
//   compile   the compiler rejects the program
//   run       the program does not load, or its run fails
//   crash     a signal ended the process, or it ran longer than --seconds
// A folder may also hold whole models with arrays (model_arrays.hpp).
// --list: the samples are the lines of a file, paths without ending. --write-delegated writes such a file: the samples that are right
// and call a plugin. --fail-fast ends at the first sample that is not right.
// --official: runs the programs that official_samples.py wrote, instead of compiling.
// --expected: a file with one line for each sample that may be other than right: "path verdict reason", or "path backend:verdict reason". A path that
// ends with * means all that begin so. Exit code 0 if every other sample is right, and no sample that is
// listed by its whole path is.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/delegates/plugin_delegates.hpp"
#include "host/module/module.hpp"
#include "host/testing/scratch_dir.hpp"
#include "tests/opinfo/case_file.hpp"
#include "tests/opinfo/model_arrays.hpp"
#include "tests/opinfo/sample_report.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tests {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> directories;
  std::string backend, plugins, op, tsv, docs, expected, list, delegated;
  bool is_official = false;
  bool fail_fast = false;
  int jobs = 1;
  int seconds = 60;
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Elements in row-major order, as the case file stores them after `contiguous`.
std::vector<uint8_t> row_major_bytes(const host::Tensor& tensor) {
  const size_t nbytes = host::element_nbytes(tensor.dtype());
  std::vector<uint8_t> bytes(tensor.nbytes());
  std::vector<int64_t> index(static_cast<size_t>(tensor.rank()), 0);
  for (size_t to = 0; to < bytes.size(); to += nbytes) {
    int64_t from = 0;
    for (size_t d = 0; d < index.size(); ++d) from += index[d] * tensor.strides()[d];
    std::copy_n(tensor.data_as<uint8_t>() + static_cast<size_t>(from) * nbytes, nbytes, bytes.begin() + to);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < tensor.sizes()[d]) break;
      index[d] = 0;
    }
  }
  return bytes;
}

std::string compare_output(const std::string& op, const Case& one, const host::EValue& actual,
                           const host::Tensor& expected) {
  if (!actual.is_tensor()) return "a value that is no tensor";
  if (actual.tensor().dtype() != expected.dtype())
    return std::string(to_text(actual.tensor().dtype())) + ", expected " + to_text(expected.dtype());
  std::vector<int64_t> sizes(actual.tensor().sizes().begin(), actual.tensor().sizes().end());
  std::vector<uint8_t> order(sizes.size());
  for (size_t d = 0; d < order.size(); ++d) order[d] = static_cast<uint8_t>(d);
  OwnedTensor dense(expected.dtype(), sizes, order, host::Dynamism::kStatic);
  const std::vector<uint8_t> bytes = row_major_bytes(actual.tensor());
  std::copy(bytes.begin(), bytes.end(), dense.tensor().data_as<uint8_t>());
  return compare(op, one, dense.tensor(), expected);
}

std::vector<std::string> command_of(const Options& options, const std::vector<std::string>& words) {
  std::vector<std::string> out;
  if (!options.plugins.empty()) out = {"--plugin-path", options.plugins};
  out.insert(out.end(), words.begin(), words.end());
  return out;
}

// Returns "" if the program was written.
std::string compile(const Options& options, const Sample& sample, const std::string& program) {
  std::vector<std::string> words = command_of(options, {"compile", sample.path + ".pt2", "-o", program});
  if (!options.backend.empty()) words.insert(words.end(), {"-b", options.backend});
  const tools::CliRun compiled = tools::cli(words);
  return compiled.exit == 0 ? std::string()
                            : "exit code " + std::to_string(compiled.exit) + ": " + first_line(compiled.err);
}

// A model with arrays. The rounded numbers of quantised networks may differ by a step of int8.
Verdict judge_model(const Options& options, const Sample& sample) {
  host::ScratchDir scratch;
  const std::string program = scratch.path("program.pte");
  if (const std::string why = compile(options, sample, program); !why.empty()) return {"compile", why};
  std::vector<std::string> words = command_of(options, {"run", program, "--output-dir", scratch.path("out")});
  for (const std::string& word : input_arguments(sample.path)) words.push_back(word);
  const tools::CliRun ran = tools::cli(words);
  if (ran.exit != 0) return {"run", first_line(ran.err)};
  const bool is_quantised =
      sample.path.find("q8") != std::string::npos || sample.path.find("8da4w") != std::string::npos;
  const std::string difference =
      compare_outputs(sample.path, scratch.path("out"), is_quantised ? 1e-2 : 2e-5);
  if (!difference.empty()) return {"wrong", difference};
  const tools::CliRun info = tools::cli({"info", program});
  return {"right", "", info.out.find("Backend") != std::string::npos};
}

// Runs in the child.
Verdict judge(const Options& options, const Sample& sample) {
  if (!fs::exists(sample.path + ".case")) return judge_model(options, sample);
  auto file = read_case_file(sample.path + ".case");
  if (!file) return {"run", file.error().message};
  Case& one = file->cases.front();
  host::ScratchDir scratch;
  const std::string program = options.is_official ? sample.path + ".pte" : scratch.path("program.pte");
  if (!options.is_official)
    if (const std::string why = compile(options, sample, program); !why.empty()) return {"compile", why};

  host::RegistryOptions registry_options;
  if (!options.plugins.empty()) registry_options.application_paths = {options.plugins};
  host::Registry registry(registry_options);
  host::PluginDelegates delegates(registry);
  host::ModuleOptions module_options;
  module_options.delegates = &delegates;
  auto module = host::Module::open(program, module_options);
  if (!module) return {"run", first_line(module.error().message)};
  std::vector<host::EValue> inputs;
  for (size_t i = 0; i + one.outputs.size() < one.args.size(); ++i) inputs.push_back(*one.args[i]);
  auto outputs = module->execute("forward", inputs);
  if (!outputs) return {"run", first_line(outputs.error().message)};
  if (outputs->size() != one.outputs.size())
    return {"wrong",
            std::to_string(outputs->size()) + " outputs, expected " + std::to_string(one.outputs.size())};
  for (size_t i = 0; i < outputs->size(); ++i) {
    const std::string difference = compare_output(file->op, one, (*outputs)[i], *one.outputs[i].expected);
    if (!difference.empty()) return {"wrong", "output " + std::to_string(i) + ": " + difference};
  }
  const auto meta = module->method_meta("forward");
  return {"right", "", meta && meta->view().delegate_count() > 0};
}

// One sample in a child process.
struct Child {
  pid_t pid = -1;
  int pipe = -1;
  std::string text;
  Sample* sample = nullptr;
};

Child start(const Options& options, Sample& sample) {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  Child child;
  child.sample = &sample;
  child.pid = ::fork();
  if (child.pid == 0) {
    ::close(ends[0]);
    ::alarm(static_cast<unsigned>(options.seconds));
    const Verdict verdict = judge(options, sample);
    const std::string line = verdict.kind + (verdict.is_delegated ? "\t1" : "\t0") + verdict.detail;
    const ssize_t written = ::write(ends[1], line.data(), line.size());
    ::_exit(written == static_cast<ssize_t>(line.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  child.pipe = ends[0];
  return child;
}

void finish(Child& child) {
  ::close(child.pipe);
  int status = 0;
  ::waitpid(child.pid, &status, 0);
  Verdict& verdict = child.sample->verdict;
  const size_t tab = child.text.find('\t');
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && tab != std::string::npos &&
      tab + 1 < child.text.size()) {
    verdict = {child.text.substr(0, tab), child.text.substr(tab + 2), child.text[tab + 1] == '1'};
  } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
    verdict = {"crash", "ran out of time"};
  } else if (WIFSIGNALED(status)) {
    verdict = {"crash", std::string("signal ") + strsignal(WTERMSIG(status))};
  } else {
    verdict = {"crash", "exit status " + std::to_string(WEXITSTATUS(status))};
  }
}

void run_all(const Options& options, std::vector<Sample>& samples) {
  std::vector<Child> children;
  size_t next = 0, done = 0;
  while (done < samples.size()) {
    while (next < samples.size() && children.size() < static_cast<size_t>(options.jobs))
      children.push_back(start(options, samples[next++]));
    std::vector<pollfd> polled;
    for (const Child& child : children) polled.push_back({child.pipe, POLLIN, 0});
    ::poll(polled.data(), polled.size(), -1);
    for (size_t i = polled.size(); i-- > 0;) {
      if (polled[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t count = ::read(children[i].pipe, buffer, sizeof(buffer));
      if (count > 0) {
        children[i].text.append(buffer, static_cast<size_t>(count));
        continue;
      }
      finish(children[i]);
      if (options.fail_fast && children[i].sample->verdict.kind != "right") {
        std::printf("FAIL %s: %s %s\n", children[i].sample->path.c_str(),
                    children[i].sample->verdict.kind.c_str(), children[i].sample->verdict.detail.c_str());
        std::fflush(stdout);
        ::_exit(1);
      }
      children.erase(children.begin() + static_cast<std::ptrdiff_t>(i));
      if (++done % 500 == 0) std::fprintf(stderr, "%zu of %zu samples\n", done, samples.size());
    }
  }
}

Sample sample_at(const fs::path& path) {
  Sample sample;
  sample.path = path.string();
  sample.op = path.parent_path().filename().string();
  const std::string name = path.filename().string();
  sample.dtype = name.substr(0, name.find('_'));
  return sample;
}

std::vector<Sample> find_samples(const Options& options) {
  std::vector<Sample> found;
  std::ifstream list(options.list);
  for (std::string line; std::getline(list, line);) found.push_back(sample_at(line));
  for (const std::string& directory : options.directories) {
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
      const fs::path stem = entry.path().parent_path() / entry.path().stem();
      const bool is_sample = entry.path().extension() == ".case" ||
                             (entry.path().extension() == ".pt2" && is_model(stem.string()));
      if (!is_sample) continue;
      Sample sample = sample_at(stem);
      if (options.is_official && !fs::exists(sample.path + ".pte")) continue;
      if (sample.op.find(options.op) != std::string::npos) found.push_back(std::move(sample));
    }
  }
  if (options.list.empty())
    std::sort(found.begin(), found.end(), [](const Sample& a, const Sample& b) { return a.path < b.path; });
  return found;
}

std::optional<Options> parse(int argc, char** argv) {
  Options options;
  const std::map<std::string, std::string*> texts = {
      {"--backend", &options.backend}, {"--plugins", &options.plugins},
      {"--op", &options.op},           {"--tsv", &options.tsv},
      {"--docs", &options.docs},       {"--expected", &options.expected},
      {"--list", &options.list},       {"--write-delegated", &options.delegated}};
  const std::map<std::string, int*> numbers = {{"--jobs", &options.jobs}, {"--seconds", &options.seconds}};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--official" || word == "--fail-fast") {
      (word == "--official" ? options.is_official : options.fail_fast) = true;
      continue;
    }
    const auto text = texts.find(word);
    const auto number = numbers.find(word);
    if (text == texts.end() && number == numbers.end()) {
      if (word.starts_with("--")) return std::nullopt;
      options.directories.push_back(word);
      continue;
    }
    if (++i == argc) return std::nullopt;
    if (text != texts.end()) *text->second = argv[i];
    if (number != numbers.end()) *number->second = std::max(1, std::atoi(argv[i]));
  }
  if (!options.plugins.empty()) options.plugins = fs::absolute(options.plugins).string();
  const bool has_input = !options.directories.empty() || !options.list.empty();
  return has_input ? std::optional(options) : std::nullopt;
}

}  // namespace
}  // namespace etb::tests

int main(int argc, char** argv) {
  const auto options = etb::tests::parse(argc, argv);
  if (!options) {
    std::fprintf(stderr,
                 "usage: program_samples DIR... [--backend NAME] [--plugins DIR] [--op TEXT] [--jobs N] "
                 "[--seconds N] [--tsv FILE] [--docs FILE] [--expected FILE] [--official] [--list FILE] "
                 "[--write-delegated FILE] [--fail-fast]\n");
    return 64;
  }
  auto samples = etb::tests::find_samples(*options);
  if (samples.empty()) {
    std::fprintf(stderr, "no sample (*.case) found\n");
    return 1;
  }
  etb::tests::run_all(*options, samples);
  if (!options->delegated.empty()) {
    std::ofstream file(options->delegated);
    for (const auto& sample : samples)
      if (sample.verdict.kind == "right" && sample.verdict.is_delegated) file << sample.path << '\n';
  }
  const auto excuses = etb::tests::read_excuses(options->expected, options->backend);
  if (!options->docs.empty())
    std::ofstream(options->docs) << etb::tests::make_page(options->backend, excuses, samples);
  return etb::tests::report(excuses, samples, options->tsv) == 0 ? 0 : 1;
}
