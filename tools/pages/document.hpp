// SPDX-License-Identifier: Apache-2.0
// Parts of a page's document (docs/pages.md): head, tables, bars.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace etb::pages {

using Json = nlohmann::ordered_json;

// The circumstances of a report. Empty ones are left out.
struct Facts {
  std::string model;    // the file that the page is about
  std::string date;     // "2026-01-31T12:00:00Z"
  std::string host;     // processor and system
  std::string command;  // as typed
  std::string version;  // of etbackend
};

// Returns the facts of now and here. The date is SOURCE_DATE_EPOCH if that is set, so that builds can be repeated.
Facts facts_of_now(std::string model, std::string command, std::string version);

// `kind` is the name by which pages are compared: "model", "run", "compile", "verify", "bench".
Json make_document(std::string_view kind, std::string title, std::string lead, const Facts& facts);

// A number or word of the summary at the top. `type` formats a number: number, bytes, us, percent. `tone` colours it:
// good, bad, warn.
void add_card(Json& document, std::string name, Json value, std::string_view type = "number",
              std::string_view tone = "");

struct Column {
  std::string_view name;
  std::string_view type = "text";  // or number, bytes, us, percent, code, plugin, spark
  bool is_key = false;             // rows of two reports with equal keys are one row of a comparison
};
Json make_table(std::string title, std::string note, std::initializer_list<Column> columns, Json rows);

// Returns a part of another kind, for its members.
Json make_part(std::string_view kind, std::string title, std::string note = "");

}  // namespace etb::pages
