// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/results.hpp"

#include <memory>
#include <set>
#include <sstream>
#include <utility>

#include "api/format/input_file.hpp"
#include "api/format/json_text.hpp"
#include "api/format/output_file.hpp"

namespace etb::conformance {
namespace {

using nlohmann::json;

std::string text_in(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

std::optional<Header> header_from_json(const json& object) {
  if (!object.is_object() || text_in(object, "suite") != "etbackend-conformance") return std::nullopt;
  Header out;
  const auto version = object.find("suite_version"), count = object.find("items");
  if (version == object.end() || !version->is_number_unsigned()) return std::nullopt;
  out.suite_version = version->get<uint32_t>();
  if (count != object.end() && count->is_number_unsigned()) out.item_count = count->get<size_t>();
  out.profile = text_in(object, "profile");
  out.plugin_id = text_in(object, "plugin");
  out.plugin_version = text_in(object, "version");
  out.plugin_path = text_in(object, "path");
  out.library_sha256 = text_in(object, "sha256");
  out.backend_id = text_in(object, "backend");
  out.contract = text_in(object, "contract");
  out.delegate_options = text_in(object, "delegate_options");
  out.shard = text_in(object, "shard");
  out.date = text_in(object, "date");
  out.host = text_in(object, "host");
  out.command = text_in(object, "command");
  out.suite_digest = text_in(object, "suite_digest");
  const auto seed = object.find("seed");
  if (seed != object.end() && seed->is_number_unsigned()) out.seed = seed->get<uint32_t>();
  return out;
}

bool is_case(const Outcome& outcome) { return !outcome.op.empty(); }

}  // namespace

nlohmann::ordered_json to_json(const Header& header) {
  nlohmann::ordered_json out = {{"suite", "etbackend-conformance"}, {"suite_version", header.suite_version},
                                {"profile", header.profile},        {"plugin", header.plugin_id},
                                {"version", header.plugin_version}, {"path", header.plugin_path},
                                {"sha256", header.library_sha256},  {"backend", header.backend_id},
                                {"contract", header.contract},      {"items", header.item_count}};
  if (!header.delegate_options.empty()) out["delegate_options"] = header.delegate_options;
  if (!header.shard.empty()) out["shard"] = header.shard;
  out["date"] = header.date;
  out["host"] = header.host;
  out["command"] = header.command;
  out["suite_digest"] = header.suite_digest;
  out["seed"] = header.seed;
  return out;
}

size_t Totals::of(State state) const {
  const auto found = by_state.find(state);
  return found != by_state.end() ? found->second : 0;
}

std::string Totals::why_not() const {
  if (failures != 0) return std::to_string(failures) + " failures";
  if (by_state.empty() && !is_part) return "nothing was run";
  if (executed == 0 && case_count != 0 && !is_part)
    return "nothing ran on the plugin: a plugin that claims nothing does not pass";
  if (of(State::kNotRun) != 0) return std::to_string(of(State::kNotRun)) + " not run";
  return "";
}

Totals add_up(const std::vector<Outcome>& outcomes) {
  Totals out;
  for (const Outcome& outcome : outcomes) {
    ++out.by_state[outcome.state];
    ++out.by_group[group_of(outcome.name)][outcome.state];
    if (is_failure(outcome.state)) ++out.failures;
    if (!is_case(outcome)) continue;
    ++out.case_count;
    out.claimed += outcome.is_claimed ? 1 : 0;
    out.executed += outcome.is_executed ? 1 : 0;
  }
  return out;
}

Totals add_up(const Results& results) {
  Totals out = add_up(results.outcomes);
  out.is_part = !results.header.shard.empty();
  return out;
}

Result<Results> read_results(const std::string& path) {
  constexpr uint64_t kMaxNbytes = uint64_t{1} << 30;  // a full run has 20 MB
  ETB_ASSIGN(std::string text, format::read_file_text(path, kMaxNbytes));
  if (const char* fault = format::find_silent_json_fault(text))
    return make_error(Code::INVALID_DATA, "results '" + path + "': " + fault);
  std::istringstream in(std::move(text));
  Results out;
  std::map<std::string, size_t> places;
  std::string line;
  for (size_t number = 1; std::getline(in, line); ++number) {
    const bool is_cut = in.eof();  // the last line has no newline
    const json object = json::parse(line, nullptr, false);
    if (number == 1) {
      const std::optional<Header> header = header_from_json(object);
      if (!header)
        return make_error(Code::INVALID_DATA, "results '" + path + "': line 1 is no header of this suite");
      out.header = *header;
      continue;
    }
    std::optional<Outcome> outcome = outcome_from_json(object);
    if (!outcome && is_cut) break;
    if (!outcome)
      return make_error(Code::INVALID_DATA,
                        "results '" + path + "': line " + std::to_string(number) + " is no outcome");
    // A failure that was examined again has a second line.
    const auto [place, is_new] = places.try_emplace(outcome->name, out.outcomes.size());
    if (is_new)
      out.outcomes.push_back(std::move(*outcome));
    else
      out.outcomes[place->second] = std::move(*outcome);
  }
  if (out.header.plugin_id.empty())
    return make_error(Code::INVALID_DATA, "results '" + path + "': no header");
  return out;
}

Result<ResultsWriter> ResultsWriter::open(const std::string& path, const Header& header,
                                          const std::vector<Outcome>& kept) {
  std::string start = dump_line(to_json(header));
  for (const Outcome& outcome : kept) start += dump_line(to_json(outcome));
  format::OutputOptions options;
  options.visibility = format::Visibility::kAtOnce;
  // The old file remains until the new one has all the kept lines.
  if (!kept.empty()) ETB_TRY(format::write_file(path, start));
  options.keeps_content = !kept.empty();
  ETB_ASSIGN(format::OutputFile opened, format::OutputFile::open(path, options));
  auto file = std::make_shared<format::OutputFile>(std::move(opened));
  if (kept.empty()) ETB_TRY(file->append(start));
  return ResultsWriter([file](std::string_view line) { return file->append(line); });
}

Result<ResultsWriter> ResultsWriter::open(Put put, const Header& header) {
  ETB_TRY(put(dump_line(to_json(header))));
  return ResultsWriter(std::move(put));
}

void ResultsWriter::add(const Outcome& outcome) {
  if (!status_) return;
  status_ = put_(dump_line(to_json(outcome)));
}

namespace {

// Rejects an incomplete set of shards, whose report would look complete. Results without a shard are whole
// runs of other cases.
Status expect_all_shards(const std::vector<Results>& shards) {
  std::map<std::string, std::set<std::string>> seen;  // keys: number of shards
  for (const Results& shard : shards) {
    const size_t slash = shard.header.shard.find('/');
    if (slash != std::string::npos)
      seen[shard.header.shard.substr(slash + 1)].insert(shard.header.shard.substr(0, slash));
  }
  for (const auto& [count, indices] : seen)
    for (size_t i = 1; std::to_string(i) != count && i <= indices.size() + 1; ++i)
      if (indices.count(std::to_string(i)) == 0)
        return make_error(Code::INVALID_ARGUMENT, "shard " + std::to_string(i) + "/" + count + " is missing");
  for (const auto& [count, indices] : seen)
    if (indices.count(count) == 0)
      return make_error(Code::INVALID_ARGUMENT, "shard " + count + "/" + count + " is missing");
  return {};
}

}  // namespace

Result<Results> merge(const std::vector<Results>& shards) {
  ETB_TRY(expect_all_shards(shards));
  Results out = shards.at(0);
  std::set<std::string> names;
  out.outcomes.clear();
  out.header.item_count = 0;
  out.header.shard.clear();
  for (const Results& shard : shards) {
    const Header& a = shards[0].header;
    const Header& b = shard.header;
    if (a.suite_version != b.suite_version || a.plugin_id != b.plugin_id ||
        a.library_sha256 != b.library_sha256 || a.contract != b.contract || a.profile != b.profile ||
        a.backend_id != b.backend_id || a.suite_digest != b.suite_digest || a.seed != b.seed ||
        a.delegate_options != b.delegate_options)
      return make_error(Code::INCOMPATIBLE,
                        "shards of " + a.plugin_id + " " + a.library_sha256.substr(0, 12) + " (" + a.profile +
                            ") and of " + b.plugin_id + " " + b.library_sha256.substr(0, 12) + " (" +
                            b.profile + ") do not belong together");
    out.header.item_count += b.item_count;
    for (const Outcome& outcome : shard.outcomes) {
      if (!names.insert(outcome.name).second)
        return make_error(Code::ALREADY_EXISTS, "'" + outcome.name + "' is in two shards");
      out.outcomes.push_back(outcome);
    }
  }
  return out;
}

Status write_file(const std::string& path, const std::string& content) {
  return format::write_file(path, content);
}

}  // namespace etb::conformance
