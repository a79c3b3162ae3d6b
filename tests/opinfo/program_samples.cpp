// SPDX-License-Identifier: Apache-2.0
// Compiles and runs PyTorch's operator samples as exported by export_samples.py, and compares with PyTorch's
// results.
//
//   program_samples DIR... [--backend NAME] [--plugins DIR] [--op TEXT] [--jobs N] [--seconds N] [--tsv FILE]
//                   [--docs FILE] [--expected FILE]
//
// Each sample is compiled by the command line's own code and runs in a child process. A verdict is one of
//   right     equal to PyTorch's results within the error model (compare.cpp)
//   wrong     a result differs
//   compile   the compiler rejects the program
//   run       the program does not load, or its run fails
//   crash     a signal ended the process, or it ran longer than --seconds
// --expected: a file with one line for each sample that may be other than right: "path verdict reason". A path that
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
#include <sstream>
#include <string>
#include <vector>

#include "host/delegates/plugin_delegates.hpp"
#include "host/module/module.hpp"
#include "host/testing/scratch_dir.hpp"
#include "tests/opinfo/case_file.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tests {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> directories;
  std::string backend, plugins, op, tsv, docs, expected;
  int jobs = 1;
  int seconds = 60;
};

struct Verdict {
  std::string kind = "crash", detail;
};

// "add/float32_10_method": operator, dtype of the sample, number, variant.
struct Sample {
  std::string path, op, dtype;
  Verdict verdict;
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

// Runs in the child.
Verdict judge(const Options& options, const Sample& sample) {
  auto file = read_case_file(sample.path + ".case");
  if (!file) return {"run", file.error().message};
  Case& one = file->cases.front();
  host::ScratchDir scratch;
  const std::string program = scratch.path("program.pte");
  std::vector<std::string> words;
  if (!options.plugins.empty()) words = {"--plugin-path", options.plugins};
  words.insert(words.end(), {"compile", sample.path + ".pt2", "-o", program});
  if (!options.backend.empty()) words.insert(words.end(), {"-b", options.backend});
  const tools::CliRun compiled = tools::cli(words);
  if (compiled.exit != 0) return {"compile", first_line(compiled.err)};

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
  return {"right", ""};
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
    const std::string line = verdict.kind + "\t" + verdict.detail;
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
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && tab != std::string::npos) {
    verdict = {child.text.substr(0, tab), child.text.substr(tab + 1)};
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
      children.erase(children.begin() + static_cast<std::ptrdiff_t>(i));
      if (++done % 500 == 0) std::fprintf(stderr, "%zu of %zu samples\n", done, samples.size());
    }
  }
}

std::vector<Sample> find_samples(const Options& options) {
  std::vector<Sample> found;
  for (const std::string& directory : options.directories) {
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
      if (entry.path().extension() != ".case") continue;
      Sample sample;
      sample.path = (entry.path().parent_path() / entry.path().stem()).string();
      sample.op = entry.path().parent_path().filename().string();
      const std::string name = entry.path().stem().string();
      sample.dtype = name.substr(0, name.find('_'));
      if (sample.op.find(options.op) != std::string::npos) found.push_back(std::move(sample));
    }
  }
  std::sort(found.begin(), found.end(), [](const Sample& a, const Sample& b) { return a.path < b.path; });
  return found;
}

std::string name_of(const Sample& sample) {
  return sample.op + "/" + fs::path(sample.path).filename().string();
}

struct Score {
  int right = 0, total = 0;
};

// A row of the file of expected verdicts.
struct Excuse {
  std::string path, verdict, reason;
  bool is_pattern = false;

  bool covers(const std::string& name) const { return is_pattern ? name.starts_with(path) : name == path; }
};

std::vector<Excuse> read_excuses(const std::string& path) {
  std::vector<Excuse> rows;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    Excuse row;
    words >> row.path >> row.verdict >> std::ws;
    std::getline(words, row.reason);
    row.is_pattern = row.path.ends_with('*');
    if (row.is_pattern) row.path.pop_back();
    rows.push_back(std::move(row));
  }
  return rows;
}

// The row for a sample that is not right; null if there is none.
const Excuse* find_excuse(const std::vector<Excuse>& excuses, const Sample& sample) {
  for (const Excuse& row : excuses)
    if (row.covers(name_of(sample)) && row.verdict == sample.verdict.kind) return &row;
  return nullptr;
}

// The samples that are not right for a reason outside of the compiler.
std::string excused_docs(const std::vector<Excuse>& excuses, const std::vector<Sample>& samples) {
  std::map<std::string, int> counts;
  std::string text;
  for (const Sample& sample : samples)
    if (sample.verdict.kind != "right")
      if (const Excuse* row = find_excuse(excuses, sample)) ++counts[row->path + "\n" + row->reason];
  if (counts.empty()) return text;
  text = "\n## Not right for a reason\n\n| samples | programs | reason |\n|---|---|---|\n";
  for (const auto& [key, count] : counts) {
    const size_t end = key.find('\n');
    text += "| " + key.substr(0, end) + " | " + std::to_string(count) + " | " + key.substr(end + 1) + " |\n";
  }
  return text;
}

std::string make_docs(const Options& options, const std::vector<Sample>& samples) {
  constexpr const char* kDtypes[] = {"float32", "float64", "float16", "bfloat16", "int64",
                                     "int32",   "int16",   "int8",    "uint8",    "bool",
                                     "complex64", "complex128"};
  const std::vector<Excuse> excuses = read_excuses(options.expected);
  std::map<std::string, std::map<std::string, Score>> scores;
  Score all;
  int excused = 0;
  for (const Sample& sample : samples) {
    Score& score = scores[sample.op][sample.dtype];
    const bool is_right = sample.verdict.kind == "right";
    score.right += is_right, all.right += is_right;
    excused += !is_right && find_excuse(excuses, sample) != nullptr;
    ++score.total, ++all.total;
  }
  const std::string head =
      "# PyTorch's operator samples through the compiler\n\n"
      "`program_samples DIR --docs FILE` writes this page after `export_samples.py DIR` "
      "([contributing.md](contributing.md)). A\n"
      "cell has the programs of an operator and dtype that compile, run and equal PyTorch's results, of all "
      "that "
      "torch.export wrote.\n"
      "Samples that torch.export cannot write, and random results, are not counted.\n\n";
  std::string text = head + std::to_string(all.right) + " of " + std::to_string(all.total) + " programs of " +
                     std::to_string(scores.size()) + " operators are right, compiled " +
                     (options.backend.empty() ? "for portable kernels" : "for " + options.backend) + ". " +
                     std::to_string(excused) + " more have a reason, listed at the end.\n\n| operator |";
  std::string line = "\n|---|";
  for (const char* dtype : kDtypes) text += std::string(" ") + dtype + " |", line += "---|";
  text += line + "\n";
  for (const auto& [op, dtypes] : scores) {
    text += "| " + op + " |";
    for (const char* dtype : kDtypes) {
      const auto found = dtypes.find(dtype);
      text += found == dtypes.end() ? " |"
                                    : " " + std::to_string(found->second.right) + "/" +
                                          std::to_string(found->second.total) + " |";
    }
    text += "\n";
  }
  return text + excused_docs(excuses, samples);
}

// Returns the number of samples that are not as expected.
int report(const Options& options, const std::vector<Sample>& samples) {
  const std::vector<Excuse> excuses = read_excuses(options.expected);
  const auto is_listed = [&](const Sample& sample) {
    return std::any_of(excuses.begin(), excuses.end(),
                       [&](const Excuse& row) { return !row.is_pattern && row.path == name_of(sample); });
  };
  std::map<std::string, int> counts;
  int surprises = 0;
  std::ofstream tsv(options.tsv);
  for (const Sample& sample : samples) {
    ++counts[sample.verdict.kind];
    const bool is_right = sample.verdict.kind == "right";
    tsv << name_of(sample) << "\t" << sample.verdict.kind << "\t" << sample.verdict.detail << "\n";
    if (is_right ? !is_listed(sample) : find_excuse(excuses, sample) != nullptr) {
      if (!is_right) ++counts["excused"];
      continue;
    }
    ++surprises;
    std::printf("%s: %s %s\n", name_of(sample).c_str(), sample.verdict.kind.c_str(),
                is_right ? "(listed as another verdict)" : sample.verdict.detail.c_str());
  }
  std::printf("%zu programs:", samples.size());
  for (const auto& [kind, count] : counts) std::printf(" %d %s", count, kind.c_str());
  std::printf("\n");
  return surprises;
}

std::optional<Options> parse(int argc, char** argv) {
  Options options;
  const std::map<std::string, std::string*> texts = {
      {"--backend", &options.backend}, {"--plugins", &options.plugins}, {"--op", &options.op},
      {"--tsv", &options.tsv},         {"--docs", &options.docs},       {"--expected", &options.expected}};
  const std::map<std::string, int*> numbers = {{"--jobs", &options.jobs}, {"--seconds", &options.seconds}};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
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
  return options.directories.empty() ? std::nullopt : std::optional(options);
}

}  // namespace
}  // namespace etb::tests

int main(int argc, char** argv) {
  const auto options = etb::tests::parse(argc, argv);
  if (!options) {
    std::fprintf(stderr,
                 "usage: program_samples DIR... [--backend NAME] [--plugins DIR] [--op TEXT] [--jobs N] "
                 "[--seconds N] [--tsv FILE] [--docs FILE] [--expected FILE]\n");
    return 64;
  }
  auto samples = etb::tests::find_samples(*options);
  if (samples.empty()) {
    std::fprintf(stderr, "no sample (*.case) found\n");
    return 1;
  }
  etb::tests::run_all(*options, samples);
  if (!options->docs.empty()) std::ofstream(options->docs) << etb::tests::make_docs(*options, samples);
  return etb::tests::report(*options, samples) == 0 ? 0 : 1;
}
