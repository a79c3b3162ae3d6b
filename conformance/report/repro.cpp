#include "conformance/report/repro.hpp"

#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>

#include "api/format/graph_verifier.hpp"
#include "conformance/cases/maker.hpp"
#include "host/registry/hex.hpp"

namespace etb::conformance {
namespace {

using nlohmann::json;

constexpr size_t kMaxSaved = 100;
constexpr size_t kMaxSequence = 100000;
constexpr size_t kMaxRuns = 1000;

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

// Bytes are hexadecimal text; at most so many of one case are a replay.
constexpr size_t kMaxBytes = size_t{1} << 26;

Result<std::vector<uint8_t>> bytes_in(const json& object, const char* key) {
  ETB_ASSIGN(const std::string text, text_in(object, key));
  if (text.size() % 2 != 0 || text.size() / 2 > kMaxBytes)
    return make_error(Code::INVALID_DATA, std::string("replay: '") + key + "' is no text of bytes");
  std::vector<uint8_t> out;
  out.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    const auto byte = host::parse_hex<1>(std::string_view(text).substr(i, 2));
    if (!byte)
      return make_error(Code::INVALID_DATA, std::string("replay: '") + key + "' is no text of bytes");
    out.push_back((*byte)[0]);
  }
  return out;
}

Result<TensorData> read_input(const json& object) {
  TensorData out;
  const auto dtype = object.find("dtype"), sizes = object.find("sizes"), order = object.find("dim_order");
  const auto is_list = [&](const auto& it) {
    return it != object.end() && it->is_array() && it->size() <= ETB_MAX_RANK;
  };
  if (dtype == object.end() || !dtype->is_string() || !is_list(sizes) || !is_list(order))
    return make_error(Code::INVALID_DATA, "replay: an input without dtype, sizes or dim_order");
  bool is_known = false;
  for (const etb_dtype one : kAllDtypes)
    if (dtype->get<std::string>() == short_name(one)) {
      out.shape.dtype = one;
      is_known = true;
    }
  if (!is_known) return make_error(Code::INVALID_DATA, "replay: an input of an unknown dtype");
  for (const json& size : *sizes) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() > kMaxBytes)
      return make_error(Code::INVALID_DATA, "replay: a size of an input");
    out.shape.sizes.push_back(size.get<int64_t>());
  }
  for (const json& dim : *order) {
    if (!dim.is_number_unsigned() || dim.get<uint64_t>() >= sizes->size())
      return make_error(Code::INVALID_DATA, "replay: a dimension of an input's order");
    out.shape.dim_order.push_back(dim.get<uint8_t>());
  }
  ETB_ASSIGN(const std::vector<uint8_t> bytes, bytes_in(object, "data"));
  out.bytes.resize(bytes.size());
  if (!bytes.empty()) std::memcpy(out.bytes.data(), bytes.data(), bytes.size());
  return out;
}

Result<SmallCase> read_small(const json& object) {
  if (!object.is_object()) return make_error(Code::INVALID_DATA, "replay: 'small' is no object");
  SmallCase out;
  ETB_ASSIGN(const std::vector<uint8_t> image, bytes_in(object, "image"));
  out.image = graph::ImageBytes(image);
  ETB_TRY(graph::verify_graph_image(out.image.span()));
  const auto runs = object.find("runs");
  if (runs == object.end() || !runs->is_array() || runs->size() > kMaxRuns)
    return make_error(Code::INVALID_DATA, "replay: no runs of 'small'");
  for (const json& run : *runs) {
    if (!run.is_array()) return make_error(Code::INVALID_DATA, "replay: a run that is no list of inputs");
    std::vector<TensorData>& inputs = out.runs.emplace_back();
    for (const json& item : run) {
      if (!item.is_object()) return make_error(Code::INVALID_DATA, "replay: an input that is no object");
      ETB_ASSIGN(TensorData input, read_input(item));
      inputs.push_back(std::move(input));
    }
  }
  if (const Status fits = check_inputs(out); !fits)
    return tl::make_unexpected(with_context(fits.error(), "replay"));
  return out;
}

nlohmann::ordered_json to_json(const SmallCase& small) {
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (const std::vector<TensorData>& run : small.runs) {
    nlohmann::ordered_json inputs = nlohmann::ordered_json::array();
    for (const TensorData& input : run) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(input.bytes.data());
      inputs.push_back({{"dtype", short_name(input.shape.dtype)},
                        {"sizes", input.shape.sizes},
                        {"dim_order", input.shape.dim_order},
                        {"data", host::format_hex({bytes, input.bytes.size()})}});
    }
    runs.push_back(std::move(inputs));
  }
  return {{"image", host::format_hex(small.image.span())}, {"runs", runs}};
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
    ETB_ASSIGN(out.small, read_small(*small));
  }
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

Status make_folder(const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    return make_error(Code::ACCESS_FAILED, "cannot make the folder '" + folder + "': " + failed.message());
  return {};
}

Result<size_t> save_repros(const Results& results, const std::string& folder) {
  ETB_TRY(make_folder(folder));
  size_t count = 0;
  for (const Outcome* outcome : smallest_failures(results.outcomes)) {
    if (count == kMaxSaved) break;
    Repro repro{kSuiteVersion,
                outcome->name,
                lines_of(outcome->sequence),
                results.header.contract,
                results.header.plugin_id,
                "",
                {}};
    if (outcome->small) repro.small = *outcome->small;
    for (const Finding& finding : outcome->findings)
      repro.finding += finding.check + ": " + finding.text + "\n";
    const std::string place = folder + "/" + outcome->name;
    ETB_TRY(write_file(place + ".json", to_json_text(repro)));
    ++count;
    const Case* const item = find_case(outcome->name);
    if (item == nullptr) continue;
    const Result<BuiltCase> built = item->build(outcome->name);
    if (!built) continue;
    const auto image = outcome->small ? outcome->small->image.span() : built->image.span();
    ETB_TRY(write_file(place + ".etg", std::string(image.begin(), image.end())));
  }
  return count;
}

}  // namespace etb::conformance
