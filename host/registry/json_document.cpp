// SPDX-License-Identifier: Apache-2.0
#include "host/registry/json_document.hpp"

#include <list>

#include "api/format/json_text.hpp"

namespace etb::host {
namespace {

using nlohmann::json;

// Builds the document like nlohmann's own DOM parser, but stops at the depth limit and reports duplicate
// keys.
class Builder : public nlohmann::json_sax<json> {
 public:
  explicit Builder(std::vector<Diagnostic>& diagnostics) : diagnostics_(diagnostics) {}

  bool null() override { return add(json()); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // never in text

  bool start_object(size_t) override { return enter(json::object()); }
  bool start_array(size_t) override { return enter(json::array()); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }

  bool key(string_t& value) override {
    Level& level = levels_.back();
    level.key = std::move(value);
    level.is_duplicate = level.node->contains(level.key);
    if (level.is_duplicate) report(path(), "this key is there twice");
    return true;
  }

  bool parse_error(size_t, const std::string&, const json::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ...": drops the id.
    std::string what = error.what();
    if (const size_t at = what.find("] "); at != std::string::npos) what.erase(0, at + 2);
    if (what.size() > 160) what.resize(160);
    const bool is_fit = is_printable(what);
    report("$", is_fit ? what : "not valid JSON text in UTF-8: " + in_quotes(what));
    return false;
  }

  std::optional<json> take() { return is_done_ ? std::optional<json>(std::move(root_)) : std::nullopt; }

 private:
  struct Level {
    json* node;
    std::string key;  // key of the member being read
    bool is_duplicate = false;
  };

  std::string path() const {
    std::string text;
    for (const Level& level : levels_) {
      if (level.node->is_array()) {
        // Above the innermost level the array already contains the item being read.
        const size_t index = level.node->size() - (&level == &levels_.back() ? 0 : 1);
        text += '[' + std::to_string(index) + ']';
        continue;
      }
      const bool is_plain = is_printable(level.key) && level.key.size() <= 64;
      text += (text.empty() ? "" : ".") + (is_plain ? level.key : in_quotes(level.key));
    }
    return text.empty() ? "$" : text;
  }

  void report(std::string where, std::string message) {
    if (diagnostics_.size() < kMaxDiagnostics) diagnostics_.push_back({std::move(where), std::move(message)});
  }

  // Returns the destination of a value. The second of two equal keys is written to a value that is discarded.
  json* place(json value) {
    if (levels_.empty()) {
      root_ = std::move(value);
      is_done_ = true;
      return &root_;
    }
    Level& level = levels_.back();
    if (level.node->is_array()) {
      level.node->push_back(std::move(value));
      return &level.node->back();
    }
    json& slot = level.is_duplicate ? thrown_away_.emplace_back() : (*level.node)[level.key];
    slot = std::move(value);
    return &slot;
  }

  bool add(json value) {
    place(std::move(value));
    return true;
  }

  bool enter(json value) {
    if (levels_.size() >= kJsonMaxDepth) {
      report(path(), "nested deeper than " + std::to_string(kJsonMaxDepth) + " levels");
      return false;
    }
    json* node = place(std::move(value));
    levels_.push_back({node, {}, false});
    return true;
  }

  bool leave() {
    levels_.pop_back();
    return true;
  }

  std::vector<Diagnostic>& diagnostics_;
  json root_;
  std::list<json> thrown_away_;  // list: items must not move
  std::vector<Level> levels_;
  bool is_done_ = false;
};

}  // namespace

JsonDocument read_json(std::string_view text) {
  JsonDocument document;
  if (text.size() > kJsonMaxBytes) {
    document.diagnostics.push_back({"$", "found " + std::to_string(text.size()) +
                                             " bytes, expected at most " + std::to_string(kJsonMaxBytes)});
    return document;
  }
  if (const char* diagnostic = format::find_silent_json_fault(text)) {
    document.diagnostics.push_back({"$", diagnostic});
    return document;
  }
  Builder builder(document.diagnostics);
  if (json::sax_parse(text, &builder)) document.root = builder.take();
  return document;
}

}  // namespace etb::host
