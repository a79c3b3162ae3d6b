// SPDX-License-Identifier: Apache-2.0
// A JSON text as a compact tree: all nodes in one array, in the order of the text. Limits depth. Rejects
// duplicate keys, which two readers could interpret differently.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "etb/cpp/result.hpp"

namespace etb::pt2 {

class JsonDocument;

enum class JsonKind : uint8_t { kNull, kBool, kInt, kFloat, kString, kArray, kObject };

// One value in a document. A default-constructed one means "absent" and has kind kNull.
class Json {
 public:
  Json() = default;
  JsonKind kind() const;
  bool is_array() const { return kind() == JsonKind::kArray; }
  bool is_object() const { return kind() == JsonKind::kObject; }
  std::optional<int64_t> as_int() const;
  // Also accepts an int, and the strings "Infinity", "-Infinity" and "NaN", which torch.export writes because
  // JSON lacks them.
  std::optional<double> as_float() const;
  std::optional<bool> as_bool() const;
  std::optional<std::string_view> as_string() const;

  uint32_t size() const;         // items of an array or object, else 0
  std::string_view key() const;  // key of a member of an object
  // Returns a member by key; absent if there is none or this is no object. Linear in the number of members.
  Json operator[](std::string_view key) const;
  explicit operator bool() const { return document_ != nullptr; }

  class Iterator {
   public:
    Iterator(const JsonDocument* document, uint32_t index) : document_(document), index_(index) {}
    Json operator*() const { return {document_, index_}; }
    Iterator& operator++();
    bool operator!=(const Iterator& other) const { return index_ != other.index_; }

   private:
    const JsonDocument* document_;
    uint32_t index_;
  };
  Iterator begin() const;
  Iterator end() const;

 private:
  friend class JsonDocument;
  friend class Iterator;
  Json(const JsonDocument* document, uint32_t index) : document_(document), index_(index) {}
  const JsonDocument* document_ = nullptr;
  uint32_t index_ = 0;
};

class JsonDocument {
 public:
  static constexpr size_t kMaxDepth = 256;

  // Python's writer has Infinity, -Infinity and NaN without quotes, which are no JSON.
  enum class Words : uint8_t { kReject, kAsTexts };
  [[nodiscard]] static Result<std::unique_ptr<JsonDocument>> parse(std::string_view text,
                                                                   Words words = Words::kReject);
  Json root() const { return {this, 0}; }

 private:
  friend class Json;
  friend class Json::Iterator;
  friend class JsonBuilder;
  struct Node {
    JsonKind kind = JsonKind::kNull;
    uint32_t size = 0;
    uint32_t next = 0;  // the node after this one and its children
    std::string_view key;
    union {
      int64_t as_int = 0;
      double as_float;
      bool as_bool;
    };
    std::string_view text;
  };
  std::vector<Node> nodes_;
  std::deque<std::string> texts_;
  std::unordered_set<std::string> keys_;  // interned: a graph repeats a few keys very often
};

}  // namespace etb::pt2
