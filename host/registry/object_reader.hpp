// SPDX-License-Identifier: Apache-2.0
// ObjectReader: reads and checks the fields of one JSON object, and collects every diagnostic with its path. Keys
// that were not read are reported as unknown.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/registry/diagnostic.hpp"
#include "host/registry/field_rules.hpp"

namespace etb::host {

enum class Need { kRequired, kOptional };

// Describes a value for messages: "an object", "the number 3", "'text'".
std::string describe(const nlohmann::json& value);

class ObjectReader {
 public:
  // `object` must be a JSON object. `path` is "" for the document itself.
  ObjectReader(const nlohmann::json& object, std::string path, std::vector<Diagnostic>& diagnostics)
      : object_(object), path_(std::move(path)), diagnostics_(diagnostics) {}

  std::string text(const char* key, Need need, const TextRule& rule);
  std::string one_of(const char* key, Need need, std::initializer_list<const char*> choices);
  int64_t integer(const char* key, Need need, int64_t min, int64_t max, int64_t otherwise = 0);
  std::optional<double> number(const char* key);
  bool boolean(const char* key, bool otherwise);
  // Reads an array of texts without repetition.
  std::vector<std::string> texts(const char* key, Need need, const TextRule& rule, size_t max_count);

  // Returns the value unchecked. NULL when it is absent (a diagnostic if it is required).
  const nlohmann::json* value(const char* key, Need need);
  // Calls read(reader) for a nested object.
  template <class Read>
  void nested(const char* key, Need need, Read read) {
    const nlohmann::json* found = object(key, need);
    if (found == nullptr) return;
    ObjectReader reader(*found, path(key), diagnostics_);
    read(reader);
    reader.note_unknown(unknown_);
  }

  // Calls each(reader of one item, index) for an array of objects.
  template <class Each>
  void objects(const char* key, Need need, size_t max_count, Each each) {
    const nlohmann::json* list = array(key, need, max_count);
    if (list == nullptr) return;
    for (size_t i = 0; i < list->size(); ++i) {
      const std::string where = path(key) + '[' + std::to_string(i) + ']';
      const nlohmann::json& item = (*list)[i];
      if (!item.is_object()) {
        report_at(where, "found " + describe(item) + ", expected an object");
        continue;
      }
      ObjectReader reader(item, where, diagnostics_);
      each(reader, i);
      reader.note_unknown(unknown_);
    }
  }

  void report(const char* key, std::string message) { report_at(path(key), std::move(message)); }
  std::string path(std::string_view key) const {
    return path_.empty() ? std::string(key) : path_ + '.' + std::string(key);
  }

  // Appends the paths of the keys that were not read, those of nested objects included.
  void note_unknown(std::vector<std::string>& out) const;

 private:
  const nlohmann::json* object(const char* key, Need need);
  const nlohmann::json* array(const char* key, Need need, size_t max_count);
  void report_at(std::string where, std::string message);
  void report_type(const char* key, const nlohmann::json& value, std::string_view expected);

  const nlohmann::json& object_;
  std::string path_;
  std::vector<Diagnostic>& diagnostics_;
  std::vector<std::string_view> asked_;
  std::vector<std::string> unknown_;
};

}  // namespace etb::host
