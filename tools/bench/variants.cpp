// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "api/format/input_file.hpp"
#include "host/module/module.hpp"
#include "tools/file_kind.hpp"
#include "tools/portable_program.hpp"

namespace etb::bench {
namespace {

constexpr uint32_t kMostThreads = 1024;

// One value of --backend, for archives or for programs.
struct Backend {
  std::string text;
  std::vector<std::string> plugins;
  std::optional<std::pair<std::string, std::string>> pin;
};

struct Backends {
  std::vector<Backend> compiled;  // for archives
  std::vector<Backend> pinned;    // for programs
};

tl::unexpected<Error> wrong_backend(const std::string& text) {
  return make_error(
      Code::INVALID_ARGUMENT,
      fmt::format("--backend '{}', expected names such as portable,xnnpack for archives (A+B: two "
                  "plugins in one program), or ID=PLUGIN,PLUGIN for programs",
                  text));
}

Status add_backends(const std::string& text, Backends& out) {
  const size_t equals = text.find('=');
  const std::string id = equals == std::string::npos ? "" : text.substr(0, equals);
  if (equals == 0) return wrong_backend(text);
  for (const std::string& name :
       tools::split_commas(equals == std::string::npos ? text : text.substr(equals + 1))) {
    if (name.empty() || name.find('=') != std::string::npos) return wrong_backend(text);
    if (!id.empty()) {
      out.pinned.push_back({id + "=" + name, {}, std::pair(id, name)});
      continue;
    }
    Backend made{name, {}, {}};
    for (size_t begin = 0; begin <= name.size() && name != "portable";) {
      const size_t end = std::min(name.find('+', begin), name.size());
      if (end == begin) return wrong_backend(text);
      made.plugins.push_back(name.substr(begin, end - begin));
      begin = end + 1;
    }
    out.compiled.push_back(std::move(made));
  }
  return {};
}

// Member of Variant in which a variant differs from its baseline, and the baseline's value.
struct Baseline {
  enum class Dimension {
    kNone,
    kFile,
    kBackend,
    kThreads,
    kParallel,
    kMethod,
    kShapes,
    kLoadMode
  } dimension = Dimension::kNone;
  std::string value;
};
using Dimension = Baseline::Dimension;

std::string value_of(const Variant& variant, Dimension dimension) {
  switch (dimension) {
    case Dimension::kFile:
      return variant.file;
    case Dimension::kBackend:
      return variant.backend;
    case Dimension::kThreads:
      return std::to_string(variant.threads);
    case Dimension::kParallel:
      return std::to_string(variant.parallel);
    case Dimension::kMethod:
      return variant.method;
    case Dimension::kShapes:
      return variant.shapes;
    case Dimension::kLoadMode:
      return variant.load_mode;
    case Dimension::kNone:
      break;
  }
  return "";
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

bool looks_like_path(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".pte") || text.ends_with(".pt2");
}

tl::unexpected<Error> wrong_baseline(const std::string& text, const std::string& expected) {
  return make_error(Code::INVALID_ARGUMENT, fmt::format("--against '{}', expected {}", text, expected));
}

template <class T>
void add_new(std::vector<T>& values, const T& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

// Reads KEY=VALUE of --against, where KEY is neither a file nor a delegate id.
Result<Baseline> add_setting(const std::string& key, const std::string& value, Options& options) {
  const std::string text = key + "=" + value;
  if (key == "method") {
    add_new(options.methods, value);
    return Baseline{Dimension::kMethod, value};
  }
  if (key == "shapes") {
    add_new(options.input_shapes, value);
    return Baseline{Dimension::kShapes, value};
  }
  if (key == "load-mode") {
    if (value != "mmap" && value != "file" && value != "mlock")
      return wrong_baseline(text, "load-mode=mmap, file or mlock");
    add_new(options.load_modes, value);
    return Baseline{Dimension::kLoadMode, value};
  }
  const bool is_threads = key == "threads";
  const uint32_t smallest = is_threads ? 0 : 1;
  uint32_t number = 0;
  const char* const end = value.data() + value.size();
  const auto [at, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || at != end || number < smallest || number > kMostThreads)
    return wrong_baseline(text, fmt::format("{}=N, from {} to {}", key, smallest, kMostThreads));
  add_new(is_threads ? options.threads : options.parallel, number);
  return Baseline{is_threads ? Dimension::kThreads : Dimension::kParallel, std::to_string(number)};
}

// Reads --against, and adds its value to the dimension where it is missing.
Result<Baseline> add_baseline(const std::string& text, Options& options) {
  if (text.empty()) return Baseline{};
  if (is_file(text) || looks_like_path(text)) {
    add_new(options.files, text);
    return Baseline{Dimension::kFile, text};
  }
  const size_t equals = std::min(text.find('='), text.size());
  const std::string key = text.substr(0, equals);
  if (equals < text.size() &&
      (key == "threads" || key == "parallel" || key == "method" || key == "shapes" || key == "load-mode"))
    return add_setting(key, text.substr(equals + 1), options);
  Backends known;
  for (const std::string& backend : options.backends) ETB_TRY(add_backends(backend, known));
  const auto has_it = [&](const std::vector<Backend>& list) {
    return std::any_of(list.begin(), list.end(),
                       [&](const Backend& backend) { return backend.text == text; });
  };
  if (!has_it(known.compiled) && !has_it(known.pinned)) options.backends.push_back(text);
  return Baseline{Dimension::kBackend, text};
}

std::optional<size_t> find_baseline(const std::vector<Variant>& variants, size_t index,
                                    const Baseline& baseline) {
  if (baseline.dimension == Dimension::kNone) return {};
  const Variant& self = variants[index];
  if (value_of(self, baseline.dimension) == baseline.value) return {};  // it is a baseline itself
  // A program and an archive have different kinds of backends: the second attempt ignores file and backend.
  for (const bool ignores_program : {false, true}) {
    for (size_t i = 0; i < variants.size(); ++i) {
      if (value_of(variants[i], baseline.dimension) != baseline.value) continue;
      bool is_equal = true;
      for (const Dimension dimension :
           {Dimension::kFile, Dimension::kBackend, Dimension::kThreads, Dimension::kParallel,
            Dimension::kMethod, Dimension::kShapes, Dimension::kLoadMode}) {
        const bool is_program = dimension == Dimension::kFile || dimension == Dimension::kBackend;
        if (dimension == baseline.dimension || (ignores_program && is_program)) continue;
        is_equal = is_equal && value_of(variants[i], dimension) == value_of(self, dimension);
      }
      if (is_equal) return i;
    }
  }
  return {};
}

Status check_distinct(const VariantList& list) {
  for (size_t i = 0; i < list.variants.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (list.variants[i] == list.variants[j])
        return make_error(Code::INVALID_ARGUMENT,
                          fmt::format("variant '{}' is listed twice", list.labels()[i]));
  return {};
}

// Calls `add` with each value, or once with "" if there is none.
template <class Add>
void for_each_or_none(const std::vector<std::string>& values, Add add) {
  if (values.empty()) add("");
  for (const std::string& value : values) add(value);
}

// Adds the variants of a file, a backend and a method.
void add_variants(const Options& options, const Variant& program, std::vector<Variant>& out) {
  for_each_or_none(options.input_shapes, [&](const std::string& shapes) {
    for (const std::string& mode : options.load_modes) {
      for (const uint32_t parallel : options.parallel) {
        for (const uint32_t threads : options.threads) {
          Variant& made = out.emplace_back(program);
          made.shapes = shapes;
          made.load_mode = mode;
          made.parallel = parallel;
          made.threads = threads;
        }
      }
    }
  });
}

// Returns the methods of --method. "*" is each method of the program; an archive is compiled into one, "forward".
Result<std::vector<std::string>> methods_of(const Options& options, const Variant& program) {
  if (std::find(options.methods.begin(), options.methods.end(), "*") == options.methods.end())
    return options.methods;
  if (program.is_archive) return std::vector<std::string>{"forward"};
  ETB_ASSIGN(const host::Module module, host::Module::open(program.file, {}));
  return module.method_names();
}

// Adds the variants of one file. A backend of the other kind of file does not apply.
Status add_file(const Options& options, const Backends& backends, const std::string& file,
                std::vector<Variant>& out) {
  if (auto opened = format::InputFile::open(file); !opened) return tl::make_unexpected(opened.error());
  Variant made;
  made.file = file;
  made.title = file == options.standard_input ? "standard input" : file;
  ETB_TRY(tools::expect_kind(file, {tools::FileKind::kProgram, tools::FileKind::kArchive},
                             "a program (.pte) or an archive (.pt2)"));
  made.is_archive = tools::is_archive(file);
  ETB_ASSIGN(const std::vector<std::string> methods, methods_of(options, made));
  std::vector<Backend> used = made.is_archive ? backends.compiled : backends.pinned;
  if (used.empty()) used.push_back({made.is_archive ? "portable" : "", {}, {}});
  for (const Backend& backend : used) {
    made.backend = backend.text;
    made.plugins = backend.plugins;
    made.pin = backend.pin;
    for_each_or_none(methods, [&](const std::string& method) {
      made.method = method;
      add_variants(options, made, out);
    });
  }
  return {};
}

}  // namespace

std::vector<std::string> VariantList::labels() const {
  const auto count = [this](auto get) {
    std::set<std::string> values;
    for (const Variant& variant : variants) values.insert(get(variant));
    return values.size();
  };
  const auto name = [](const Variant& v) { return std::filesystem::path(v.title).filename().string(); };
  const bool has_full_path = count(name) < count([](const Variant& v) { return v.file; });
  const bool has_threads = count([](const Variant& v) { return std::to_string(v.threads); }) > 1;
  const bool has_parallel = count([](const Variant& v) { return std::to_string(v.parallel); }) > 1;
  const bool has_method = count([](const Variant& v) { return v.method; }) > 1;
  const bool has_mode = count([](const Variant& v) { return v.load_mode; }) > 1;
  std::vector<std::string> out;
  for (const Variant& variant : variants) {
    std::string& label = out.emplace_back(has_full_path ? variant.title : name(variant));
    if (!variant.backend.empty()) label += " " + variant.backend;
    if (has_threads) label += fmt::format(" threads={}", variant.threads);
    if (has_parallel) label += fmt::format(" parallel={}", variant.parallel);
    if (has_method) label += " " + variant.method;
    if (!variant.shapes.empty()) label += " " + variant.shapes;
    if (has_mode) label += " " + variant.load_mode;
  }
  return out;
}

Result<VariantList> make_variants(const Options& given) {
  Options options = given;
  if (options.load_modes.empty()) options.load_modes.emplace_back("mmap");
  ETB_ASSIGN(const Baseline baseline, add_baseline(options.against, options));
  Backends backends;
  for (const std::string& text : options.backends) ETB_TRY(add_backends(text, backends));
  VariantList list;
  for (const std::string& file : options.files) ETB_TRY(add_file(options, backends, file, list.variants));
  const auto has_kind = [&](bool is_archive) {
    return std::any_of(list.variants.begin(), list.variants.end(),
                       [&](const Variant& variant) { return variant.is_archive == is_archive; });
  };
  if (!backends.compiled.empty() && !has_kind(true))
    return make_error(
        Code::INVALID_ARGUMENT,
        fmt::format("backend '{}' needs an archive (.pt2), and every file is a compiled program\n"
                    "hint: --backend ID=PLUGIN selects the plugin for a delegate of a program",
                    backends.compiled[0].text));
  if (!backends.pinned.empty() && !has_kind(false))
    return make_error(
        Code::INVALID_ARGUMENT,
        fmt::format("backend '{}' needs a compiled program (.pte), and every file is an archive\n"
                    "hint: --backend PLUGIN compiles an archive for a plugin",
                    backends.pinned[0].text));
  ETB_TRY(check_distinct(list));
  for (size_t i = 0; i < list.variants.size(); ++i)
    list.baselines.push_back(find_baseline(list.variants, i, baseline));
  const bool has_baseline = std::any_of(list.baselines.begin(), list.baselines.end(),
                                        [](const auto& index) { return index.has_value(); });
  if (!options.against.empty() && !has_baseline)
    return make_error(Code::INVALID_ARGUMENT,
                      fmt::format("--against '{}': no other variant can be compared with it\n"
                                  "hint: name a file, a backend, threads=N, parallel=N, method=NAME, "
                                  "shapes=SHAPE,... or load-mode=MODE that differs from another variant",
                                  options.against));
  return list;
}

}  // namespace etb::bench
