// SPDX-License-Identifier: Apache-2.0
#include "tools/pages/document.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <ctime>

#include "conformance/report/circumstances.hpp"

namespace etb::pages {
namespace {

std::string date_text(std::time_t seconds) {
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return "";
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace

Facts facts_of_now(std::string model, std::string command, std::string version) {
  const char* const epoch = std::getenv("SOURCE_DATE_EPOCH");
  const std::time_t now =
      epoch != nullptr ? static_cast<std::time_t>(std::strtoll(epoch, nullptr, 10)) : std::time(nullptr);
  return {std::move(model), date_text(now), conformance::describe_host(), std::move(command),
          std::move(version)};
}

Json make_document(std::string_view kind, std::string title, std::string lead, const Facts& facts) {
  Json list = Json::array();
  const auto add = [&list](const char* name, const std::string& value) {
    if (!value.empty()) list.push_back({name, value});
  };
  add("model", facts.model);
  add("date", facts.date);
  add("host", facts.host);
  add("command", facts.command);
  add("version", facts.version);
  return {
      {"page_version", 1},         {"page", kind},
      {"title", std::move(title)}, {"lead", std::move(lead)},
      {"facts", std::move(list)},  {"warnings", Json::array()},
      {"summary", Json::array()},  {"plugins", Json::array()},
      {"sections", Json::array()}, {"footer", "Made by etbackend. This file loads nothing from elsewhere."}};
}

void add_card(Json& document, std::string name, Json value, std::string_view type, std::string_view tone) {
  Json card{{"name", std::move(name)}, {"value", std::move(value)}, {"type", type}};
  if (!tone.empty()) card["tone"] = tone;
  document["summary"].push_back(std::move(card));
}

Json make_part(std::string_view kind, std::string title, std::string note) {
  Json part{{"kind", kind}, {"title", std::move(title)}};
  if (!note.empty()) part["note"] = std::move(note);
  return part;
}

Json make_table(std::string title, std::string note, std::initializer_list<Column> columns, Json rows) {
  Json part = make_part("table", std::move(title), std::move(note));
  Json heads = Json::array();
  for (const Column& column : columns) {
    Json head{{"name", column.name}, {"type", column.type}};
    if (column.is_key) head["key"] = true;
    heads.push_back(std::move(head));
  }
  part["columns"] = std::move(heads);
  part["rows"] = std::move(rows);
  return part;
}

}  // namespace etb::pages
