// SPDX-License-Identifier: Apache-2.0
// Reads the document of a page back. The file may be of any origin, so each member that a page uses is checked.
#include <fmt/format.h>

#include <set>

#include "api/format/printable_text.hpp"
#include "tools/pages/reports.hpp"

namespace etb::pages {
namespace {

constexpr std::string_view kBegin = "<script type=\"application/json\" id=\"document\">", kEnd = "</script>";
// Documents are at most 12 deep, except trees of names, which have 24 levels of two each.
constexpr int kMaxDepth = 80;

class Checker {
 public:
  explicit Checker(std::string name) : name_(std::move(name)) {}

  Status fail(const std::string& where, std::string_view expected, const Json& found) const {
    return make_error(Code::INVALID_DATA,
                      fmt::format("'{}': {}: found {}, expected {}", name_, format::made_printable(where),
                                  found.type_name(), expected));
  }
  Status is_text(const Json& value, const std::string& where) const {
    return value.is_string() ? Status{} : fail(where, "a text", value);
  }
  Status is_array(const Json& value, const std::string& where) const {
    return value.is_array() ? Status{} : fail(where, "a list", value);
  }
  // The member, or null.
  static const Json& member(const Json& object, const char* key) {
    static const Json kNull;
    if (!object.is_object()) return kNull;
    const auto found = object.find(key);
    return found == object.end() ? kNull : *found;
  }

  Status texts(const Json& list, const std::string& where) const {
    ETB_TRY(is_array(list, where));
    for (const Json& item : list) ETB_TRY(is_text(item, where));
    return {};
  }
  // {name, text...}: the members of each object of a list that must be texts.
  Status objects(const Json& list, const std::string& where, std::initializer_list<const char*> texts) const {
    ETB_TRY(is_array(list, where));
    for (const Json& item : list) {
      if (!item.is_object()) return fail(where, "an object", item);
      for (const char* key : texts) ETB_TRY(is_text(member(item, key), where + "." + key));
    }
    return {};
  }
  Status table(const Json& part, const std::string& where) const {
    ETB_TRY(objects(member(part, "columns"), where + ".columns", {"name", "type"}));
    ETB_TRY(is_array(member(part, "rows"), where + ".rows"));
    const size_t width = part["columns"].size();
    for (const Json& row : part["rows"])
      if (!row.is_array() || row.size() != width)
        return fail(where + ".rows", fmt::format("a list of {} cells", width), row);
    return {};
  }
  Status graph(const Json& part, const std::string& where) const {
    ETB_TRY(texts(member(part, "plugins"), where + ".plugins"));
    ETB_TRY(objects(member(part, "graphs"), where + ".graphs", {"name"}));
    const size_t plugins = part["plugins"].size();
    for (const Json& one : part["graphs"]) {
      const Json& nodes = member(one, "nodes");
      ETB_TRY(objects(nodes, where + ".nodes", {"op", "name"}));
      for (size_t i = 0; i < nodes.size(); ++i)
        ETB_TRY(node(nodes[i], nodes.size(), plugins, fmt::format("{}.nodes[{}]", where, i)));
    }
    return {};
  }
  Status node(const Json& node, size_t count, size_t plugins, const std::string& where) const {
    for (const char* key : {"spec", "module", "type", "source"})
      if (node.contains(key)) ETB_TRY(is_text(node[key], where + "." + key));
    if (node.contains("plugin") &&
        (!node["plugin"].is_number_unsigned() || node["plugin"].get<uint64_t>() >= plugins))
      return fail(where + ".plugin", fmt::format("a number below {}", plugins), node["plugin"]);
    if (node.contains("needs")) {
      ETB_TRY(is_array(node["needs"], where + ".needs"));
      for (const Json& need : node["needs"])
        if (!need.is_number_unsigned() || need.get<uint64_t>() >= count)
          return fail(where + ".needs", fmt::format("a number below {}", count), need);
    }
    if (node.contains("constants")) ETB_TRY(texts(node["constants"], where + ".constants"));
    for (const char* key : {"attrs", "reasons"})
      if (node.contains(key)) {
        ETB_TRY(is_array(node[key], where + "." + key));
        for (const Json& row : node[key]) ETB_TRY(texts(row, where + "." + key));
      }
    return {};
  }
  Status tree(const Json& node, const std::string& where) const {
    if (!node.is_object()) return fail(where, "an object", node);
    ETB_TRY(is_text(member(node, "name"), where + ".name"));
    if (node.contains("value") && !node["value"].is_number())
      return fail(where + ".value", "a number", node["value"]);
    if (!node.contains("children")) return {};
    ETB_TRY(is_array(node["children"], where + ".children"));
    for (const Json& child : node["children"]) ETB_TRY(tree(child, where));
    return {};
  }
  Status bars(const Json& part, const std::string& where) const {
    ETB_TRY(objects(member(part, "rows"), where + ".rows", {"name"}));
    for (const Json& row : part["rows"])
      if (!member(row, "value").is_number()) return fail(where + ".value", "a number", member(row, "value"));
    return {};
  }
  // Rows of numbers and texts: events of a lane, boxes of an arena.
  Status tuples(const Json& list, const std::string& where, std::string_view types) const {
    ETB_TRY(is_array(list, where));
    for (const Json& row : list) {
      if (!row.is_array() || row.size() != types.size())
        return fail(where, fmt::format("a list of {}", types.size()), row);
      for (size_t i = 0; i < types.size(); ++i)
        if (types[i] == 'n' ? !row[i].is_number() : !row[i].is_string())
          return fail(where, types[i] == 'n' ? "a number" : "a text", row[i]);
    }
    return {};
  }
  Status heat(const Json& part, const std::string& where) const {
    ETB_TRY(texts(member(part, "columns"), where + ".columns"));
    ETB_TRY(objects(member(part, "rows"), where + ".rows", {"name"}));
    for (const Json& row : part["rows"]) {
      const Json& cells = member(row, "cells");
      ETB_TRY(is_array(cells, where + ".cells"));
      for (const Json& cell : cells) {
        if (cell.is_null()) continue;
        for (const char* key : {"state", "text"}) ETB_TRY(is_text(member(cell, key), where + ".cells"));
      }
    }
    return {};
  }
  Status items(const Json& part, const std::string& where) const {
    ETB_TRY(objects(member(part, "items"), where + ".items", {"title"}));
    for (const Json& item : part["items"])
      for (const char* key : {"lines", "code"})
        if (item.contains(key)) ETB_TRY(texts(item[key], where + "." + key));
    return {};
  }
  Status arena(const Json& part, const std::string& where) const {
    ETB_TRY(texts(member(part, "steps"), where + ".steps"));
    for (const char* key : {"nbytes", "peak"})
      if (!member(part, key).is_number_unsigned())
        return fail(where + "." + key, "a number", member(part, key));
    return tuples(member(part, "boxes"), where + ".boxes", "ttnnnnt");
  }
  Status timeline(const Json& part, const std::string& where) const {
    ETB_TRY(objects(member(part, "lanes"), where + ".lanes", {"name"}));
    for (const Json& lane : part["lanes"]) {
      ETB_TRY(tuples(member(lane, "events"), where + ".events", "tnnttt"));
      if (lane.contains("levels")) ETB_TRY(tuples(lane["levels"], where + ".levels", "nnnt"));
    }
    return {};
  }
  Status section(const Json& part, const std::string& where) const {
    if (!part.is_object()) return fail(where, "an object", part);
    for (const char* key : {"kind", "title"}) ETB_TRY(is_text(member(part, key), where + "." + key));
    const auto kind = part["kind"].get<std::string>();
    if (kind == "table") return table(part, where);
    if (kind == "graph") return graph(part, where);
    if (kind == "treemap" || kind == "flame") return tree(member(part, "root"), where + ".root");
    if (kind == "bars") return bars(part, where);
    if (kind == "heat") return heat(part, where);
    if (kind == "items") return items(part, where);
    if (kind == "arena") return arena(part, where);
    if (kind == "timeline") return timeline(part, where);
    return fail(where + ".kind", "a known kind of part", part["kind"]);
  }
  Status document(const Json& document) const {
    for (const char* key : {"page", "title"}) ETB_TRY(is_text(member(document, key), key));
    ETB_TRY(texts(member(document, "warnings"), "warnings"));
    ETB_TRY(texts(member(document, "plugins"), "plugins"));
    ETB_TRY(objects(member(document, "summary"), "summary", {"name", "type"}));
    ETB_TRY(is_array(member(document, "facts"), "facts"));
    for (const Json& fact : document["facts"]) {
      ETB_TRY(texts(fact, "facts"));
      if (fact.size() != 2) return fail("facts", "two texts", fact);
    }
    ETB_TRY(is_array(member(document, "sections"), "sections"));
    for (size_t i = 0; i < document["sections"].size(); ++i)
      ETB_TRY(section(document["sections"][i], fmt::format("sections[{}]", i)));
    return {};
  }

 private:
  std::string name_;
};

// Rejects what is deeper than documents are: later steps are recursive.
Json parse(std::string_view text, bool& is_too_deep) {
  return Json::parse(
      text,
      [&is_too_deep](int depth, Json::parse_event_t, Json&) {
        is_too_deep = is_too_deep || depth > kMaxDepth;
        return !is_too_deep;
      },
      false);
}

}  // namespace

Result<Json> read_report(std::string_view bytes, const std::string& name) {
  std::string_view text = bytes;
  const size_t begin = bytes.find(kBegin);
  const size_t first = bytes.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string_view::npos && bytes[first] == '{';
  if (!is_json) {
    if (begin == std::string_view::npos)
      return make_error(
          Code::INVALID_DATA,
          fmt::format(
              "'{}': found no document in it, expected a page of etbackend or a report of `bench --json`",
              name));
    text = bytes.substr(begin + kBegin.size());
    const size_t end = text.find(kEnd);
    if (end == std::string_view::npos)
      return make_error(Code::INVALID_DATA,
                        fmt::format("'{}': the document that begins at byte {} has no end", name, begin));
    text = text.substr(0, end);
  }
  bool is_too_deep = false;
  Json document = parse(text, is_too_deep);
  if (is_too_deep)
    return make_error(Code::INVALID_DATA,
                      fmt::format("'{}': values are nested more than {} deep", name, kMaxDepth));
  if (document.is_discarded() || !document.is_object())
    return make_error(Code::INVALID_DATA, fmt::format("'{}': the document is no JSON object", name));
  if (is_json && !document.contains("page")) {
    auto made = bench_document(document);
    if (!made) return tl::make_unexpected(with_context(std::move(made).error(), "'" + name + "'"));
    return made;
  }
  if (document.value("page", Json()) == "compare")
    return make_error(Code::INVALID_ARGUMENT,
                      fmt::format("'{}': found a comparison, expected a report", name));
  ETB_TRY(Checker(name).document(document));
  return document;
}

}  // namespace etb::pages
