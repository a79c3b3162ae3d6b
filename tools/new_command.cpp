// SPDX-License-Identifier: Apache-2.0
// `etbackend new NAME`: writes a vendor's project from the template plugin. The program contains the files
// (EtbEmbedFiles.cmake), so it needs no source tree at run time.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>
#include <utility>

#include "api/format/output_file.hpp"
#include "host/registry/diagnostic.hpp"
#include "host/registry/field_rules.hpp"
#include "tools/command.hpp"
#include "tools/option_values.hpp"

namespace etb::tools {
namespace {

namespace fs = std::filesystem;

struct EmbeddedFile {
  std::string_view lang;  // "c", "cpp" or "" for both
  std::string_view path;
  std::string_view text;
};

constexpr EmbeddedFile kFiles[] = {
#define ETB_NEW_FILE(lang, path, text) {lang, path, text},
#include "new_files.inc"
#undef ETB_NEW_FILE
};

struct NewOptions {
  std::string name;
  std::string lang = "cpp";
  std::string dir;
  std::string vendor = "Example Inc.";
  std::string id;
  bool json = false;
};

using Words = std::vector<std::pair<std::string, std::string>>;

// "my_npu" -> "MyNpu".
std::string camel_case(std::string_view name) {
  std::string text;
  bool starts_word = true;
  for (const char c : name) {
    if (c != '_') text += starts_word ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    starts_word = c == '_';
  }
  return text;
}

// Returns the first four letters and digits of the name in upper case, the magic of the plugin's payloads.
std::string magic_text(std::string_view name) {
  std::string text;
  for (const char c : name)
    if (c != '_' && text.size() < 4) text += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  text.resize(4, '_');
  return text;
}

std::string magic_number(std::string_view text) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i)
    number |= static_cast<uint32_t>(static_cast<unsigned char>(text[i])) << (8 * i);
  return fmt::format("0x{:08x}", number);
}

std::string default_id(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "com.example." + name;
}

// Returns pairs of template words and their replacements. The first match wins. The C template has its own
// names because both are built in one tree here.
Words make_words(const NewOptions& options) {
  Words words;
  for (const char* own : {"my_npu_c", "my_npu"}) {
    words.emplace_back(default_id(own), options.id);
    words.emplace_back(camel_case(own), camel_case(options.name));
    words.emplace_back(own, options.name);
  }
  words.emplace_back("Example Inc.", options.vendor);
  words.emplace_back(magic_text("my_npu"), magic_text(options.name));
  words.emplace_back(magic_number(magic_text("my_npu")), magic_number(magic_text(options.name)));
  words.emplace_back("@EXT@", options.lang);
  return words;
}

// Replaces in one pass, so that no replacement is replaced again.
std::string replace_words(std::string_view text, const Words& words) {
  std::string out;
  while (!text.empty()) {
    const auto found = std::find_if(words.begin(), words.end(), [&](const auto& word) {
      return text.substr(0, word.first.size()) == word.first;
    });
    if (found == words.end()) {
      out += text[0];
      text.remove_prefix(1);
    } else {
      out += found->second;
      text.remove_prefix(found->first.size());
    }
  }
  return out;
}

bool is_plugin_name(std::string_view name) {
  const auto is_allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && name.size() <= 32 && name[0] >= 'a' && name[0] <= 'z' && name.back() != '_' &&
         name.find("__") == std::string_view::npos && std::all_of(name.begin(), name.end(), is_allowed);
}

Status check_options(const NewOptions& options) {
  if (!is_plugin_name(options.name))
    return make_error(Code::INVALID_ARGUMENT, "NAME: found " + host::in_quotes(options.name) +
                                                  ", expected at most 32 lower-case letters, digits and "
                                                  "single underscores, a letter first, such as "
                                                  "'my_npu'");
  // Names used by the template's code and the SDK's CMake functions.
  for (const char* taken : {"delegate", "etbackend"})
    if (options.name == taken)
      return make_error(Code::INVALID_ARGUMENT,
                        "NAME: '" + options.name + "' is taken by the SDK, expected another name");
  if (!host::kPluginIdRule.accepts(options.id))
    return make_error(Code::INVALID_ARGUMENT, "--id: found " + host::in_quotes(options.id) + ", expected " +
                                                  host::kPluginIdRule.expected);
  // The vendor is written to a C string, to JSON and to 64 bytes of the note section.
  if (!host::kLineRule.accepts(options.vendor) || options.vendor.size() > 63 ||
      options.vendor.find_first_of("\"\\") != std::string::npos)
    return make_error(Code::INVALID_ARGUMENT,
                      "--vendor: found " + host::in_quotes(options.vendor) +
                          ", expected one line of at most 63 bytes without quotes and backslashes");
  return {};
}

struct OutputFile {
  fs::path path;
  std::string text;
};

std::vector<OutputFile> make_files(const NewOptions& options) {
  const Words words = make_words(options);
  std::vector<OutputFile> files;
  for (const EmbeddedFile& file : kFiles)
    if (file.lang.empty() || file.lang == options.lang)
      files.push_back(
          {fs::path(options.dir) / replace_words(file.path, words), replace_words(file.text, words)});
  return files;
}

// Fails before the first write if any file exists already.
Status check_free(const std::vector<OutputFile>& files) {
  for (const OutputFile& file : files) {
    std::error_code error;
    if (fs::exists(fs::symlink_status(file.path, error)))
      return make_error(
          Code::PERMISSION_DENIED,
          "'" + file.path.string() + "' exists and is not overwritten, expected a new folder (--dir)");
  }
  return {};
}

Status write_file(const OutputFile& file) {
  std::error_code error;
  fs::create_directories(file.path.parent_path(), error);
  if (error)
    return make_error(Code::ACCESS_FAILED, "'" + file.path.parent_path().string() + "': " + error.message());
  format::OutputOptions options;
  options.must_be_new = true;
  if (file.path.extension() == ".sh") options.mode = 0777;
  return format::write_file(file.path.string(), file.text, options);
}

Result<ExitCode> run(NewOptions options, Session& session) {
  if (options.id.empty()) options.id = default_id(options.name);
  if (options.dir.empty()) options.dir = options.name;
  ETB_TRY(check_options(options));
  const std::vector<OutputFile> files = make_files(options);
  ETB_TRY(check_free(files));
  nlohmann::ordered_json report{
      {"id", options.id}, {"folder", options.dir}, {"files", nlohmann::json::array()}};
  for (const OutputFile& file : files) {
    ETB_TRY(write_file(file));
    report["files"].push_back(file.path.string());
    if (!options.json) session.out << file.path.string() << '\n';
  }
  if (options.json) {
    session.out << report.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) << '\n';
    return ExitCode::OK;
  }
  session.out << fmt::format(
      "\n{} claims aten.add.Tensor and runs it. Next steps:\n"
      "  cd {}\n"
      "  cmake -S . -B build && cmake --build build\n"
      "  ctest --test-dir build\n"
      "  etbackend --plugin-path $PWD/build/plugins.d list\n",
      options.id, options.dir);
  return ExitCode::OK;
}

}  // namespace

void register_new(CLI::App& app, Session& session) {
  auto options = std::make_shared<NewOptions>();
  CLI::App* command = app.add_subcommand("new", "Write a plugin project that builds, loads and runs");
  command->add_option("NAME", options->name, "Name of the plugin, such as my_npu")->required();
  command->add_option("--lang", options->lang, "Language of the plugin: cpp or c")
      ->check(one_of({"cpp", "c"}))
      ->capture_default_str();
  command->add_option("--dir", options->dir, "Folder to write into (default: NAME)")->type_name("DIR");
  command->add_option("--vendor", options->vendor, "Vendor of the plugin, for display")
      ->capture_default_str();
  command->add_option("--id", options->id, "Id of the plugin, reverse DNS (default: com.example.NAME)")
      ->type_name("ID");
  command->add_flag("--json", options->json, "Print the files as one JSON object");
  run_as(command, session, [options, &session] { return run(*options, session); });
}

}  // namespace etb::tools
