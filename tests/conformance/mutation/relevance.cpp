// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/mutation/relevance.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace etb::mutation {
namespace {

namespace fs = std::filesystem;

bool is_of_name(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

// Adds the name after each `before`, without the ending of its overload.
void add_names_after(std::string_view before, std::string_view text, std::set<std::string>& out) {
  for (size_t at = 0; (at = text.find(before, at)) != text.npos;) {
    const bool is_whole = at == 0 || !is_of_name(text[at - 1]);
    at += before.size();
    size_t end = at;
    while (end < text.size() && is_of_name(text[end])) ++end;
    std::string_view name = text.substr(at, end - at);
    for (const std::string_view ending : {"_out", "_default"})
      if (name.ends_with(ending)) name.remove_suffix(ending.size());
    if (is_whole && !name.empty() && name != "ops") out.emplace(name);
    at = end;
  }
}

bool has_common(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& one) { return b.count(one) != 0; });
}

}  // namespace

std::set<std::string> ops_named_in(const std::string& source) {
  std::set<std::string> out;
  for (const char* before : {"ops/", "ops::"}) add_names_after(before, source, out);
  return out;
}

std::set<std::string> ops_of_program(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  std::set<std::string> out;
  add_names_after("torch.ops.aten.", text.str(), out);
  return out;
}

std::vector<Sample> with_first(std::vector<Sample> samples, const std::set<std::string>& ops,
                               const std::vector<std::string>& noticed_before) {
  const auto rank_of = [&](const Sample& sample) {
    const fs::path path = sample.path;
    const std::string name = (path.parent_path().filename() / path.filename()).string();
    for (const std::string& text : noticed_before)
      if (text.find(name + ":") != text.npos) return 0;
    return has_common(sample.ops, ops) ? 1 : 2;
  };
  std::stable_sort(samples.begin(), samples.end(),
                   [&](const Sample& a, const Sample& b) { return rank_of(a) < rank_of(b); });
  return samples;
}

std::vector<std::string> patterns_for(const std::set<std::string>& ops) {
  std::vector<std::string> out;
  for (const std::string& op : ops)
    for (const char* ending : {".*", "_*"}) out.push_back("*." + op + ending);
  return out;
}

}  // namespace etb::mutation
