#include "conformance/report/repro.hpp"

#include <filesystem>
#include <map>
#include <sstream>

#include "conformance/cases/case.hpp"

namespace etb::conformance {
namespace {

using nlohmann::json;

constexpr size_t kMaxSaved = 100;
constexpr size_t kMaxSequence = 100000;

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
  if (sequence == object.end() || !sequence->is_array() || sequence->size() > kMaxSequence)
    return make_error(Code::INVALID_DATA, "replay: no sequence");
  for (const json& item : *sequence) {
    if (!item.is_string()) return make_error(Code::INVALID_DATA, "replay: a name of the sequence is no text");
    out.sequence.push_back(item.get<std::string>());
  }
  return out;
}

std::vector<const Outcome*> smallest_failures(const std::vector<Outcome>& outcomes) {
  std::map<std::string, const Outcome*> kinds;
  for (const Outcome& outcome : outcomes) {
    if (!is_failure(outcome.state)) continue;
    const Outcome*& kind =
        kinds[(outcome.findings.empty() ? std::string() : outcome.findings[0].check) + " " + outcome.op];
    if (kind == nullptr || outcome.name.size() < kind->name.size()) kind = &outcome;
  }
  std::vector<const Outcome*> out;
  for (const auto& [title, outcome] : kinds) out.push_back(outcome);
  return out;
}

Result<size_t> save_repros(const Results& results, const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    return make_error(Code::ACCESS_FAILED, "cannot make the folder '" + folder + "': " + failed.message());
  size_t count = 0;
  for (const Outcome* outcome : smallest_failures(results.outcomes)) {
    if (count == kMaxSaved) break;
    Repro repro{kSuiteVersion,
                outcome->name,
                lines_of(outcome->sequence),
                results.header.contract,
                results.header.plugin_id,
                ""};
    for (const Finding& finding : outcome->findings)
      repro.finding += finding.check + ": " + finding.text + "\n";
    const std::string place = folder + "/" + outcome->name;
    ETB_TRY(write_file(place + ".json", to_json_text(repro)));
    ++count;
    const Case* const item = find_case(outcome->name);
    if (item == nullptr) continue;
    if (const Result<BuiltCase> built = item->build(item->name)) {
      const auto image = built->image.span();
      ETB_TRY(write_file(place + ".etg", std::string(image.begin(), image.end())));
    }
  }
  return count;
}

}  // namespace etb::conformance
