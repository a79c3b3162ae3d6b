// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/repro.hpp"

#include <filesystem>
#include <sstream>

#include "conformance/outcome/small_case_json.hpp"

namespace etb::conformance {
namespace {

using nlohmann::json;

constexpr size_t kMaxSequence = 100000;
constexpr const char* kMeasuredRule = "measured";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

Result<std::string> text_in(const json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_string())
    return make_error(Code::INVALID_DATA, std::string("replay: no text '") + key + "'");
  return it->get<std::string>();
}

}  // namespace

std::string to_json_text(const Repro& repro) {
  nlohmann::ordered_json out = {{"replay", "etbackend-conformance"},
                                {"suite_version", repro.suite_version},
                                {"case", repro.name},
                                {"sequence", repro.sequence},
                                {"contract", repro.contract},
                                {"plugin", repro.plugin_id},
                                {"finding", repro.finding}};
  if (repro.is_measured) out["rule"] = kMeasuredRule;
  if (repro.small) out["small"] = to_json(*repro.small);
  return out.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Result<Repro> parse_repro(const std::string& text) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object() || object.value("replay", json()) != "etbackend-conformance")
    return make_error(Code::INVALID_DATA, "replay: no file of `etbackend verify --save`");
  Repro out;
  const auto version = object.find("suite_version"), sequence = object.find("sequence");
  if (version == object.end() || !version->is_number_unsigned())
    return make_error(Code::INVALID_DATA, "replay: no suite_version");
  if (*version != kSuiteVersion)
    return make_error(Code::INCOMPATIBLE, "replay: of suite version " + version->dump().substr(0, 20) +
                                              ", this is " + std::to_string(kSuiteVersion));
  out.suite_version = kSuiteVersion;
  ETB_ASSIGN(out.name, text_in(object, "case"));
  ETB_ASSIGN(out.contract, text_in(object, "contract"));
  ETB_ASSIGN(out.plugin_id, text_in(object, "plugin"));
  ETB_ASSIGN(out.finding, text_in(object, "finding"));
  if (const auto small = object.find("small"); small != object.end()) {
    ETB_ASSIGN(out.small, small_case_from_json(*small));
  }
  if (const auto rule = object.find("rule"); rule != object.end()) {
    if (*rule != kMeasuredRule || !out.small)
      return make_error(Code::INVALID_DATA, std::string("replay: a rule, expected '") + kMeasuredRule +
                                                "' and a graph in 'small'");
    out.is_measured = true;
  }
  if (sequence == object.end() || !sequence->is_array() || sequence->size() > kMaxSequence)
    return make_error(Code::INVALID_DATA, "replay: no sequence");
  for (const json& item : *sequence) {
    if (!item.is_string()) return make_error(Code::INVALID_DATA, "replay: a name of the sequence is no text");
    out.sequence.push_back(item.get<std::string>());
  }
  return out;
}

Status make_folder(const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    return make_error(Code::ACCESS_FAILED, "cannot make the folder '" + folder + "': " + failed.message());
  return {};
}

namespace {

Status save(const Outcome& outcome, const Header& header, const std::string& folder) {
  Repro repro{
      kSuiteVersion, outcome.name, lines_of(outcome.sequence), header.contract, header.plugin_id, "", {}};
  if (outcome.small) repro.small = *outcome.small;
  for (const Finding& finding : outcome.findings) repro.finding += finding.check + ": " + finding.text + "\n";
  const std::string place = folder + "/" + outcome.name;
  ETB_TRY(write_file(place + ".json", to_json_text(repro)));
  if (outcome.small) {
    const auto image = outcome.small->image.span();
    return write_file(place + ".etg", std::string(image.begin(), image.end()));
  }
  const Case* const item = find_case(outcome.name);
  const Result<BuiltCase> built =
      item != nullptr ? item->build(outcome.name) : Result<BuiltCase>(make_error(Code::NOT_FOUND, ""));
  if (!built) return {};  // a check has no graph
  const auto image = built->image.span();
  return write_file(place + ".etg", std::string(image.begin(), image.end()));
}

}  // namespace

Result<size_t> save_repros(const Results& results, const Invocation& by) {
  ETB_TRY(make_folder(by.saved_in));
  size_t count = 0;
  std::string list;
  for (const Kind& kind : kinds_of_failures(results.outcomes)) {
    list += (list.empty() ? "# " : "\n# ") + kind.title + "\n";
    for (const Outcome* outcome : kind.outcomes) {
      ETB_TRY(save(*outcome, results.header, by.saved_in));
      list += repeat_command(by, *outcome) + "\n";
      ++count;
    }
  }
  ETB_TRY(write_file(by.saved_in + "/failures.txt", list));
  return count;
}

}  // namespace etb::conformance
