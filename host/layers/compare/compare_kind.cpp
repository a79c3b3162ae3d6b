// SPDX-License-Identifier: Apache-2.0
// The layer "compare" by text: "compare=my_npu_v1,rtol=1e-5", "compare=portable,graphs=compile.etbt".
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "api/format/output_file.hpp"
#include "host/layers/compare/comparison.hpp"
#include "host/layers/layer_kinds.hpp"

namespace etb::host {
namespace {

constexpr const char* kPortable = "portable";

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json to_json(const ComparedOutput& output) {
  return {{"delegate", output.delegate},
          {"method", output.method},
          {"output", output.output},
          {"name", output.node.name},
          {"op", output.node.op},
          {"debug_handle", output.node.debug_handle},
          {"source", output.node.source},
          {"runs", output.run_count},
          {"differing_runs", output.differing_count},
          {"runs_beyond_tolerance", output.beyond_count},
          {"max_abs", number(output.max_abs)},
          {"max_rel", number(output.max_rel)},
          {"first_run", output.first_run},
          {"first_index", output.first.first_index},
          {"first_found", number(output.first.first_found)},
          {"first_expected", number(output.first.first_expected)}};
}

std::string to_json(const Comparison& comparison, const std::string& name) {
  Json outputs = Json::array();
  for (const ComparedOutput& output : comparison.outputs()) outputs.push_back(to_json(output));
  const Json report{{"alternative", name},
                    {"differs", comparison.has_differences()},
                    {"notes", comparison.notes()},
                    {"outputs", std::move(outputs)}};
  return report.dump(2, ' ', true, Json::error_handler_t::replace) + '\n';
}

class ActiveComparison final : public ActiveLayer {
 public:
  ActiveComparison(ComparisonOptions options, std::string json_file, const LayerHost& host)
      : print_(host.print),
        json_file_(std::move(json_file)),
        name_(options.name),
        comparison_(std::move(options)) {}
  Layer layer() const noexcept override { return comparison_.layer(); }

  bool finish() override {
    for (const ComparedOutput& output : comparison_.outputs()) print_("compare: " + describe_output(output));
    for (const std::string& note : comparison_.notes()) print_("compare: " + note);
    if (json_file_.empty()) return !comparison_.has_differences();
    const Status written = format::write_file(json_file_, to_json(comparison_, name_));
    if (!written) print_("compare: " + written.error().message);
    return written && !comparison_.has_differences();
  }

 private:
  std::function<void(const std::string&)> print_;
  std::string json_file_;
  std::string name_;
  Comparison comparison_;
};

Result<double> parse_tolerance(const std::string& key, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (!text.empty() && *end == '\0' && value >= 0 && std::isfinite(value)) return value;
  return make_error(Code::INVALID_ARGUMENT, key + "='" + text + "', expected a number from 0");
}

Result<std::unique_ptr<ActiveLayer>> make(const std::string& settings, const LayerHost& host) {
  std::istringstream parts(settings.empty() ? "" : settings.substr(1));
  ComparisonOptions options;
  std::string json_file;
  std::getline(parts, options.name, ',');
  if (settings.empty() || settings[0] != '=' || options.name.empty())
    return make_error(Code::INVALID_ARGUMENT, "found '" + settings + "', expected =PLUGIN");
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t equals = part.find('=');
    const std::string key = part.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
    if (key == "atol") {
      ETB_ASSIGN(options.tolerance.atol, parse_tolerance(key, value));
    } else if (key == "rtol") {
      ETB_ASSIGN(options.tolerance.rtol, parse_tolerance(key, value));
    } else if (key == "graphs") {
      ETB_ASSIGN(options.graphs, GraphSource::open(value));
    } else if (key == "json" && !value.empty()) {
      json_file = value;
    } else {
      return make_error(Code::INVALID_ARGUMENT,
                        "'" + part + "', expected atol=NUMBER, rtol=NUMBER, graphs=FILE or json=FILE");
    }
  }
  options.is_portable = options.name == kPortable;
  if (options.is_portable && !options.graphs)
    return make_error(
        Code::INVALID_ARGUMENT,
        "the portable kernels run graphs, which payloads do not contain\nhint: add graphs=FILE, the "
        "call trace of `etbackend compile ... --layer trace=FILE`");
  if (!host.open_plugin) return make_error(Code::NOT_SUPPORTED, "this application offers no other plugins");
  options.open = [open = host.open_plugin, name = options.name] { return open(name); };
  return std::make_unique<ActiveComparison>(std::move(options), std::move(json_file), host);
}

}  // namespace

const LayerKind kCompareKind{"compare", "compare=PLUGIN[,rtol=X][,atol=X][,graphs=FILE][,json=FILE]",
                             "runs another plugin beside, and reports how outputs differ", make};

}  // namespace etb::host
