// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/import/json_document.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/format/json_text.hpp"

namespace etb::pt2 {

// Receives the parser's events; returning false stops it.
class JsonBuilder {
 public:
  using Number = nlohmann::json::number_integer_t;
  explicit JsonBuilder(JsonDocument& document) : out_(document) {}

  bool null() { return add(JsonKind::kNull) != nullptr; }
  bool boolean(bool value) {
    JsonDocument::Node* node = add(JsonKind::kBool);
    if (node != nullptr) node->as_bool = value;
    return node != nullptr;
  }
  bool number_integer(int64_t value) {
    JsonDocument::Node* node = add(JsonKind::kInt);
    if (node != nullptr) node->as_int = value;
    return node != nullptr;
  }
  bool number_unsigned(uint64_t value) {
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return stop("an integer exceeds int64");
    return number_integer(static_cast<int64_t>(value));
  }
  bool number_float(double value, const std::string&) {
    JsonDocument::Node* node = add(JsonKind::kFloat);
    if (node != nullptr) node->as_float = value;
    return node != nullptr;
  }
  bool string(std::string& value) {
    if (value.find('\0') != std::string::npos) return stop("a text contains a NUL (\\u0000)");
    JsonDocument::Node* node = add(JsonKind::kString);
    if (node != nullptr) node->text = out_.texts_.emplace_back(std::move(value));
    return node != nullptr;
  }
  bool binary(nlohmann::json::binary_t&) { return stop("binary values are not supported"); }
  bool start_object(size_t) { return start(JsonKind::kObject); }
  bool start_array(size_t) { return start(JsonKind::kArray); }
  bool key(std::string& value) {
    if (value.find('\0') != std::string::npos) return stop("a key contains a NUL (\\u0000)");
    key_ = *out_.keys_.insert(std::move(value)).first;  // emplace would allocate for known keys, too
    return true;
  }
  bool end_object() {
    return has_distinct_keys(open_.back()) ? end() : stop("a key occurs twice in one object");
  }
  bool end_array() { return end(); }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) {
    return stop("syntax error at byte " + std::to_string(position));
  }

  const std::string& message() const { return message_; }

 private:
  bool stop(std::string why) {
    if (message_.empty()) message_ = std::move(why);
    return false;
  }
  JsonDocument::Node* add(JsonKind kind) {
    if (out_.nodes_.size() >= std::numeric_limits<uint32_t>::max() - 1) {
      stop("more than 4294967294 values");
      return nullptr;
    }
    if (!open_.empty()) ++out_.nodes_[open_.back()].size;
    JsonDocument::Node& node = out_.nodes_.emplace_back();
    node.kind = kind;
    node.key = std::exchange(key_, {});
    node.next = static_cast<uint32_t>(out_.nodes_.size());
    return &node;
  }
  bool start(JsonKind kind) {
    if (open_.size() >= JsonDocument::kMaxDepth)
      return stop("nested deeper than " + std::to_string(JsonDocument::kMaxDepth) + " levels");
    if (add(kind) == nullptr) return false;
    open_.push_back(static_cast<uint32_t>(out_.nodes_.size() - 1));
    return true;
  }
  bool end() {
    out_.nodes_[open_.back()].next = static_cast<uint32_t>(out_.nodes_.size());
    open_.pop_back();
    return true;
  }
  // True if no key repeats. Keys are interned, so equal keys have equal addresses.
  bool has_distinct_keys(uint32_t object) {
    pointers_.clear();
    for (uint32_t i = object + 1; i < out_.nodes_.size(); i = out_.nodes_[i].next) {
      pointers_.push_back(out_.nodes_[i].key.data());
    }
    std::sort(pointers_.begin(), pointers_.end());
    return std::adjacent_find(pointers_.begin(), pointers_.end()) == pointers_.end();
  }

  JsonDocument& out_;
  std::vector<uint32_t> open_;
  std::vector<const char*> pointers_;
  std::string_view key_;
  std::string message_;
};

namespace {

// Returns a text in which Python's words for numbers have quotes; empty without any.
std::string quote_words(std::string_view text) {
  std::string out;
  size_t copied = 0;
  bool in_text = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && in_text)
      ++i;
    else if (text[i] == '"')
      in_text = !in_text;
    else if (!in_text && (text[i] == 'I' || text[i] == 'N')) {
      const std::string_view word = text[i] == 'I' ? "Infinity" : "NaN";
      if (!text.substr(i).starts_with(word)) continue;
      const size_t begin = text[i] == 'I' && i > copied && text[i - 1] == '-' ? i - 1 : i;
      out.append(text.substr(copied, begin - copied)).append("\"");
      out.append(text.substr(begin, i - begin)).append(word).append("\"");
      copied = i + word.size();
      i = copied - 1;
    }
  }
  return copied == 0 ? out : out.append(text.substr(copied));
}

}  // namespace

Result<std::unique_ptr<JsonDocument>> JsonDocument::parse(std::string_view text, Words words) {
  const std::string quoted = words == Words::kAsTexts ? quote_words(text) : "";
  if (!quoted.empty()) text = quoted;
  if (const char* fault = format::find_silent_json_fault(text))
    return make_error(Code::INVALID_DATA, std::string("json: ") + fault);
  auto document = std::make_unique<JsonDocument>();
  JsonBuilder builder(*document);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) {
    return make_error(Code::INVALID_DATA, "json: " + builder.message());
  }
  return document;
}

JsonKind Json::kind() const {
  return document_ == nullptr ? JsonKind::kNull : document_->nodes_[index_].kind;
}

std::optional<int64_t> Json::as_int() const {
  if (kind() != JsonKind::kInt) return std::nullopt;
  return document_->nodes_[index_].as_int;
}

std::optional<double> Json::as_float() const {
  switch (kind()) {
    case JsonKind::kFloat:
      return document_->nodes_[index_].as_float;
    case JsonKind::kInt:
      return static_cast<double>(document_->nodes_[index_].as_int);
    case JsonKind::kString: {
      const std::string_view text = document_->nodes_[index_].text;
      if (text == "Infinity") return std::numeric_limits<double>::infinity();
      if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
      if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

std::optional<bool> Json::as_bool() const {
  if (kind() != JsonKind::kBool) return std::nullopt;
  return document_->nodes_[index_].as_bool;
}

std::optional<std::string_view> Json::as_string() const {
  if (kind() != JsonKind::kString) return std::nullopt;
  return document_->nodes_[index_].text;
}

uint32_t Json::size() const { return document_ == nullptr ? 0 : document_->nodes_[index_].size; }
std::string_view Json::key() const { return document_ == nullptr ? "" : document_->nodes_[index_].key; }

Json Json::operator[](std::string_view wanted) const {
  if (is_object()) {
    for (const Json member : *this) {
      if (member.key() == wanted) return member;
    }
  }
  return {};
}

Json::Iterator& Json::Iterator::operator++() {
  index_ = document_->nodes_[index_].next;
  return *this;
}
Json::Iterator Json::begin() const {
  return {document_, document_ == nullptr        ? 0
                     : is_array() || is_object() ? index_ + 1
                                                 : document_->nodes_[index_].next};
}
Json::Iterator Json::end() const {
  return {document_, document_ == nullptr ? 0 : document_->nodes_[index_].next};
}

}  // namespace etb::pt2
