// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/mutation/build_tree.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace etb::mutation {
namespace {

namespace fs = std::filesystem;

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

// A mutant is compiled once and runs for seconds.
constexpr const char* kQuick = " -O1 -g0 -w";

}  // namespace

Result<BuildTree> BuildTree::open(const std::string& root, const std::string& build) {
  BuildTree tree;
  tree.root_ = fs::canonical(root).string();
  tree.build_ = fs::canonical(build).string();
  std::ifstream file(tree.build_ + "/compile_commands.json");
  const nlohmann::json list = nlohmann::json::parse(file, nullptr, false);
  if (!list.is_array())
    return make_error(Code::NOT_FOUND, "'" + tree.build_ + "/compile_commands.json' is no list of commands");
  for (const nlohmann::json& one : list) {
    CompileCommand command = {one.value("command", ""), one.value("file", ""), ""};
    const size_t begin = command.command.find(" -o "), end = command.command.find(" -c ");
    if (begin == std::string::npos || end == std::string::npos || end < begin) continue;
    command.object = command.command.substr(begin + 4, end - begin - 4);
    tree.commands_.push_back(std::move(command));
  }
  return tree;
}

std::map<std::string, std::vector<CompileCommand>> BuildTree::sources_of(const Target& target) const {
  std::map<std::string, std::vector<CompileCommand>> out;
  for (const CompileCommand& command : commands_)
    for (const std::string& folder : target.object_folders)
      if (command.object.find(folder) != std::string::npos && command.source.starts_with(root_ + "/") &&
          !command.source.starts_with(build_ + "/"))
        out[command.source.substr(root_.size() + 1)].push_back(command);
  return out;
}

RunResult BuildTree::compile(const CompileCommand& command, const std::string& text,
                             const std::string& folder, const std::string& object) const {
  const std::string source = folder + "/" + fs::path(command.source).filename().string();
  std::ofstream(source, std::ios::binary) << text;
  std::string words = command.command;
  replace_all(words, " -o " + command.object, " -o '" + object + "'");
  replace_all(words, " -c " + command.source,
              std::string(kQuick) + " -iquote '" + fs::path(command.source).parent_path().string() +
                  "' -c '" + source + "'");
  replace_all(words, " -Werror", "");
  return run_limited(
      {"/bin/sh", "-c", "cd '" + build_ + "' && exec " + words},
      {.seconds = 900, .cpu_seconds = 300, .memory_bytes = uint64_t{4} << 30, .folder = folder});
}

Result<std::string> BuildTree::link_command(const std::string& ninja_target,
                                            const std::string& folder) const {
  const RunResult ran =
      run_limited({"/bin/sh", "-c", "ninja -C '" + build_ + "' -t commands " + ninja_target + " | tail -1"},
                  {.folder = folder});
  const size_t begin = ran.output.rfind(": && ");
  if (!ran.is_ok() || begin == std::string::npos || ran.output.find(" -o ") == std::string::npos)
    return make_error(Code::NOT_FOUND, "ninja has no link command for '" + ninja_target + "'");
  return ran.output.substr(begin, ran.output.find('\n', begin) - begin);
}

RunResult BuildTree::link(const std::string& command, const std::string& product, const std::string& folder,
                          const std::vector<std::pair<std::string, std::string>>& objects) const {
  const std::string name = fs::path(product).filename().string();
  std::string words = command, first;
  for (const auto& [from, to] : objects) {
    const bool is_listed = words.find(" " + from + " ") != std::string::npos;
    if (is_listed) replace_all(words, " " + from + " ", " '" + to + "' ");
    if (!is_listed) first += " '" + to + "'";
  }
  const std::string before = " -o " + product;
  size_t at = words.find(before);
  if (at == std::string::npos) return {};
  size_t end = words.find(' ', at + 4);
  const std::string ending = words.substr(at + before.size(), end - at - before.size());
  words.replace(at, end - at, " -Wl,-S -o '" + folder + "/" + name + ending + "'" + first);
  replace_all(words, build_ + "/" + product + ".", folder + "/" + name + ".");
  return run_limited(
      {"/bin/sh", "-c", "cd '" + build_ + "' && " + words},
      {.seconds = 900, .cpu_seconds = 300, .memory_bytes = uint64_t{4} << 30, .folder = folder});
}

}  // namespace etb::mutation
