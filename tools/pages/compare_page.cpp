// SPDX-License-Identifier: Apache-2.0
// Benchmarks as documents, and two documents side by side.
#include <fmt/format.h>

#include "tools/pages/reports.hpp"

namespace etb::pages {
namespace {

std::string text_of(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) return "";
  const Json& value = object[key];
  return value.is_string() ? value.get<std::string>()
         : value.is_null() ? ""
                           : value.dump(-1, ' ', true, Json::error_handler_t::replace);
}
Json number_of(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_number() ? object[key] : Json(nullptr);
}

Json profile_table(const Json& variant, const std::string& label) {
  Json rows = Json::array();
  for (const Json& row : variant["profile"])
    rows.push_back({text_of(row, "name"), text_of(row, "kind"), number_of(row, "calls"), number_of(row, "us"),
                    number_of(row, "share")});
  return make_table("Profile of " + label, "",
                    {{"operator or delegate", "text", true},
                     {"kind"},
                     {"calls", "number"},
                     {"time", "us"},
                     {"share", "percent"}},
                    std::move(rows));
}

}  // namespace

Result<Json> bench_document(const Json& report) {
  if (!report.contains("variants") || !report["variants"].is_array())
    return make_error(Code::INVALID_DATA, "found no list 'variants', expected a report of `bench --json`");
  const Json machine = report.value("machine", Json::object());
  Json document =
      make_document("bench", "Benchmark", "Times of runs.",
                    {"", text_of(report, "date"), text_of(machine, "cpu") + ", " + text_of(machine, "system"),
                     text_of(report, "command"), text_of(report, "version")});
  Json rows = Json::array(), bars = Json::array(), profiles = Json::array();
  for (const Json& variant : report["variants"]) {
    if (!variant.is_object()) return make_error(Code::INVALID_DATA, "variants: found no object");
    const std::string label = text_of(variant, "label");
    rows.push_back({label, text_of(variant, "status"), number_of(variant, "median_us"),
                    number_of(variant, "mean_us"), number_of(variant, "sd_us"), number_of(variant, "min_us"),
                    number_of(variant, "max_us"), number_of(variant, "load_us"),
                    number_of(variant, "first_us"), number_of(variant, "peak_memory_bytes"),
                    number_of(variant, "file_bytes")});
    if (const Json median = number_of(variant, "median_us"); !median.is_null())
      bars.push_back({{"name", label}, {"value", median}});
    if (variant.contains("profile") && variant["profile"].is_array())
      profiles.push_back(profile_table(variant, label));
    if (text_of(variant, "status") == "error" && variant.contains("error"))
      document["warnings"].push_back(label + ": " + text_of(variant["error"], "message"));
    if (variant.contains("notes") && variant["notes"].is_array())
      for (const Json& note : variant["notes"])
        if (note.is_string()) document["warnings"].push_back(label + ": " + note.get<std::string>());
  }
  Json part = make_part("bars", "Median time of a run");
  part["unit"] = "us";
  part["rows"] = std::move(bars);
  document["sections"].push_back(std::move(part));
  document["sections"].push_back(make_table("Variants", "",
                                            {{"variant", "text", true},
                                             {"status"},
                                             {"median", "us"},
                                             {"mean", "us"},
                                             {"sd", "us"},
                                             {"least", "us"},
                                             {"most", "us"},
                                             {"load", "us"},
                                             {"first run", "us"},
                                             {"memory", "bytes"},
                                             {"file", "bytes"}},
                                            std::move(rows)));
  for (Json& profile : profiles) document["sections"].push_back(std::move(profile));
  return document;
}

Result<Json> compare_documents(Json a, Json b, const std::string& a_name, const std::string& b_name,
                               const Facts& facts) {
  if (a["page"] != b["page"])
    return make_error(
        Code::INVALID_ARGUMENT,
        fmt::format("'{}' is a page of kind '{}' and '{}' of kind '{}', expected two of one kind", a_name,
                    a["page"].get<std::string>(), b_name, b["page"].get<std::string>()));
  Json document = make_document(
      "compare", fmt::format("A: {}  |  B: {}", a["title"].get<std::string>(), b["title"].get<std::string>()),
      "A is " + a_name + ", B is " + b_name + ". Changes are from A to B.", facts);
  Json& plugins = document["plugins"];
  for (const Json* side : {&a, &b})
    for (const Json& plugin : (*side)["plugins"])
      if (std::find(plugins.begin(), plugins.end(), plugin) == plugins.end()) plugins.push_back(plugin);
  document["sides"] = Json::array({std::move(a), std::move(b)});
  return document;
}

}  // namespace etb::pages
