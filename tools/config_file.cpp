// SPDX-License-Identifier: Apache-2.0
#include "tools/config_file.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <sstream>

#include "host/registry/search_path.hpp"
#include "host/registry/trusted_file.hpp"
#include "tools/option_values.hpp"
#include "tools/wrong_words.hpp"

namespace etb::tools {
namespace {

namespace fs = std::filesystem;
constexpr const char* kName = "etbackend.toml";
constexpr uint64_t kMaxNbytes = 1 << 20;

Result<std::string> read_trusted(const std::string& path) {
  const fs::path full = fs::absolute(path).lexically_normal();
  ETB_ASSIGN(const host::FileDescriptor folder,
             host::open_trusted_directory(full.parent_path().string(), host::TrustPolicy{}));
  ETB_ASSIGN(const host::FileDescriptor file,
             host::open_trusted_file(folder.get(), full.filename().string(), host::TrustPolicy{}));
  return host::read_text_file(file.get(), kMaxNbytes);
}

const CLI::App* section_of(const CLI::App& app, const CLI::ConfigItem& item) {
  if (item.parents.empty()) return &app;
  for (const CLI::App* command :
       app.get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); }))
    if (item.parents.size() == 1 && command->get_name() == item.parents[0]) return command;
  return nullptr;
}

[[noreturn]] void refuse(const std::string& file, const std::string& message) {
  throw CLI::ConfigError(file + ": " + message, CLI::ExitCodes::ConfigError);
}

// The message begins with the name of the file already.
std::string without_name(const std::string& file, const std::string& message) {
  const std::string start = fs::path(file).filename().string() + ": ";
  return message.starts_with(start) ? message.substr(start.size()) : message;
}

void check_item(const CLI::App& app, const CLI::ConfigItem& item, const std::string& file) {
  const CLI::App* const section = section_of(app, item);
  if (section == nullptr) refuse(file, "section " + unknown_name(item.parents[0], command_names(app)));
  if (item.name == "++" || item.name == "--") return;  // begin and end of a section
  std::vector<std::string> keys;
  for (const std::string& name : option_names(*section))
    if (name.rfind("--", 0) == 0 && name != "--help" && name != "--version" && name != "--config" &&
        name != "--no-config")
      keys.push_back(name.substr(2));
  if (std::find(keys.begin(), keys.end(), item.name) == keys.end())
    refuse(file, (item.parents.empty() ? "key " : "key of [" + item.parents[0] + "] ") +
                     unknown_name(item.name, keys));
}

// Reads all files in place of the one that CLI11 opened.
class ConfigFiles final : public CLI::ConfigTOML {
 public:
  ConfigFiles(const CLI::App& app, std::vector<std::string> files) : app_(app), files_(std::move(files)) {}

  std::vector<CLI::ConfigItem> from_config(std::istream&) const override {
    std::vector<CLI::ConfigItem> all;
    for (const std::string& file : files_) {
      const Result<std::string> text = read_trusted(file);
      if (!text) refuse(file, without_name(file, text.error().message));
      std::istringstream in(*text);
      for (CLI::ConfigItem& item : CLI::ConfigTOML::from_config(in)) {
        check_item(app_, item, file);
        all.push_back(std::move(item));
      }
    }
    return all;
  }

 private:
  const CLI::App& app_;
  std::vector<std::string> files_;
};

}  // namespace

std::vector<std::string> default_config_files() {
  if (host::is_process_secure()) return {};
  std::vector<std::string> files;
  const auto add = [&files](const fs::path& path) {
    std::error_code failed;
    if (fs::exists(path, failed)) files.push_back(path.string());
  };
  add(kName);
  if (const auto folder = host::read_environment("XDG_CONFIG_HOME"); folder && !folder->empty())
    add(fs::path(*folder) / kName);
  else if (const auto home = host::read_environment("HOME"); home && !home->empty())
    add(fs::path(*home) / ".config" / kName);
  return files;
}

void read_config_files(CLI::App& app, const std::vector<std::string>& files, bool is_required) {
  if (files.empty()) return;
  app.config_formatter(std::make_shared<ConfigFiles>(app, files));
  // A hidden option: CLI11 reads a configuration only by way of one.
  app.set_config("--config-file-read", files[0], "", is_required)->group("");
}

}  // namespace etb::tools
