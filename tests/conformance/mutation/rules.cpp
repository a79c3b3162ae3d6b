// SPDX-License-Identifier: Apache-2.0
// The code of this repository is formatted, and the rules depend on that: a binary operator has blanks on both sides, a bracket of a
// template, a pointer or a reference has not.
#include "tests/conformance/mutation/rules.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>

namespace etb::mutation {
namespace {

struct Swap {
  std::string_view group, from;
  std::array<std::string_view, 2> to;
};
constexpr Swap kBinary[] = {
    {"arithmetic", "+", {"-", "*"}},   {"arithmetic", "-", {"+", ""}},     {"arithmetic", "*", {"/", "+"}},
    {"arithmetic", "/", {"*", ""}},    {"arithmetic", "%", {"*", ""}},     {"arithmetic", "+=", {"-=", "="}},
    {"arithmetic", "-=", {"+=", ""}},  {"arithmetic", "*=", {"/=", "="}},  {"arithmetic", "/=", {"*=", ""}},
    {"comparison", "<", {"<=", ">"}},  {"comparison", "<=", {"<", ">="}},  {"comparison", ">", {">=", "<"}},
    {"comparison", ">=", {">", "<="}}, {"comparison", "==", {"!=", ">="}}, {"comparison", "!=", {"==", "<"}},
    {"logic", "&&", {"||", ""}},       {"logic", "||", {"&&", ""}},        {"bits", "&", {"|", ""}},
    {"bits", "|", {"&", ""}},          {"bits", "^", {"|", ""}},           {"bits", "<<", {">>", ""}},
    {"bits", ">>", {"<<", ""}},        {"bits", "|=", {"&=", "="}},        {"bits", "&=", {"|=", "="}},
};

class Finder {
 public:
  Finder(const std::string& file, const Source& source) : file_(file), source_(source) {}

  std::vector<Mutant> find() {
    for (uint32_t i = 0; i < source_.tokens().size(); ++i) {
      if (const uint32_t after = end_of_left_out(i); after != i) {
        i = after;
        continue;
      }
      const Token& token = source_.tokens()[i];
      if (token.kind == TokenKind::kPunctuation) visit_punctuation(i);
      if (token.kind == TokenKind::kNumber) change_number(i);
      if (token.kind == TokenKind::kName) visit_name(i);
    }
    return std::move(mutants_);
  }

 private:
  std::string_view at(int64_t index) const { return source_.at(index); }
  const Token& token(uint32_t index) const { return source_.tokens()[index]; }

  // Replaces the tokens first to last.
  void add(std::string_view group, uint32_t first, uint32_t last, std::string replacement) {
    Mutant one;
    one.file = file_;
    one.group = std::string(group);
    one.line = token(first).line;
    one.offset = token(first).begin;
    one.length = token(last).end - token(first).begin;
    if (replacement == source_.between(first, last)) return;
    one.replacement = std::move(replacement);
    const std::string key =
        one.file + "|" + one.group + "|" + std::to_string(one.offset) + "|" + one.replacement;
    constexpr char kDigits[] = "0123456789abcdef";
    for (uint64_t hash = hash_of(key), i = 0; i < 12; ++i, hash >>= 4) one.id += kDigits[hash & 15];
    mutants_.push_back(std::move(one));
  }

  // Returns the last token of something that is not mutated, or `i`.
  uint32_t end_of_left_out(uint32_t i) const {
    static const std::set<std::string_view> kCalls = {"static_assert", "assert",   "alignas",
                                                      "sizeof",        "decltype", "__attribute__"};
    if (kCalls.count(at(i)) != 0 && at(i + 1) == "(" && token(i + 1).partner > 0)
      return static_cast<uint32_t>(token(i + 1).partner);
    if (at(i) == "using" || at(i) == "template" || at(i) == "namespace") {
      uint32_t end = i;
      while (end + 1 < source_.tokens().size() && at(end) != ";" && at(end) != "{" && at(end) != ">") ++end;
      return end;
    }
    return i;
  }

  void visit_punctuation(uint32_t i) {
    const std::string_view word = at(i);
    if (token(i).is_spaced) swap_operator(i);
    if (word == "!" && at(i + 1) != "=") add("logic", i, i, "");
    if (word == "?") swap_ternary(i);
    if (word == "(") swap_arguments(i);
    if (word == "[") change_index(i);
    if (word == ";" || word == "{" || word == "}") delete_statement(i + 1);
    if (word == "++" || word == "--") add("arithmetic", i, i, word == "++" ? "--" : "++");
    if (word == "-" && !token(i).is_spaced) add("arithmetic", i, i, "");
  }

  void swap_operator(uint32_t i) {
    for (const Swap& swap : kBinary) {
      if (at(i) != swap.from) continue;
      const bool is_bound = swap.group == "comparison" && is_in_for_head(i);
      for (const std::string_view to : swap.to)
        if (!to.empty()) add(is_bound ? "bound" : swap.group, i, i, std::string(to));
      if (is_bound) change_bound(i);
    }
  }

  bool is_in_for_head(uint32_t i) const {
    const int32_t opener = token(i).opener;
    return opener > 0 && at(opener) == "(" && at(opener - 1) == "for";
  }

  // i < n: ends one earlier or later.
  void change_bound(uint32_t i) {
    uint32_t last = i + 1;
    while (last + 1 < source_.tokens().size() && at(last + 1) != ";" && at(last + 1) != "&&" &&
           at(last + 1) != ")")
      last = token(last + 1).partner > static_cast<int32_t>(last)
                 ? static_cast<uint32_t>(token(last + 1).partner)
                 : last + 1;
    const std::string bound(source_.between(i + 1, last));
    add("bound", i + 1, last, bound + " - 1");
    add("bound", i + 1, last, bound + " + 1");
  }

  void change_number(uint32_t i) {
    const std::string text(at(i));
    const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
    if (is_hex || text.find_first_of("'") != text.npos) return add("constant", i, i, "(" + text + " + 1)");
    if (text.find_first_of(".eE") != text.npos) {
      add("constant", i, i, "(" + text + " * 2)");
      add("constant", i, i, "(" + text + " + 1)");
      return;
    }
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) return;
    const std::string suffix = text.substr(static_cast<size_t>(end - text.data()));
    const bool is_bound = value == 0 && is_in_for_head(i);
    add(is_bound ? "bound" : "constant", i, i, std::to_string(value + 1) + suffix);
    if (value > 0) add("constant", i, i, std::to_string(value - 1) + suffix);
    if (value > 2) add("constant", i, i, std::to_string(value * 2) + suffix);
  }

  void visit_name(uint32_t i) {
    const std::string_view word = at(i);
    if (word == "true") add("constant", i, i, "false");
    if (word == "false") add("constant", i, i, "true");
    if ((word == "if" || word == "while") && at(i + 1) == "(" && token(i + 1).partner > 0) {
      const auto close = static_cast<uint32_t>(token(i + 1).partner);
      const bool declares = source_.between(i + 1, close).find(';') != std::string_view::npos;
      if (declares || close == i + 2) return;
      const std::string inner(source_.between(i + 2, close - 1));
      add("condition", i + 2, close - 1, "!(" + inner + ")");
      add("condition", i + 2, close - 1, "(" + inner + ") && 0");
      if (word == "if") add("condition", i + 2, close - 1, "(" + inner + ") || 1");
    }
    if (word == "min" || word == "max") {
      if (at(i + 1) == "(" || at(i + 1) == "<") add("comparison", i, i, word == "min" ? "max" : "min");
    }
    if (word == "continue") add("statement", i, i, "");
    if (word == "break" && at(i + 2) != "case" && at(i + 2) != "default") add("statement", i, i, "");
  }

  // c ? a : b becomes c ? b : a.
  void swap_ternary(uint32_t i) {
    const int32_t opener = token(i).opener;
    uint32_t colon = 0, nested = 0, end = i;
    for (uint32_t k = i + 1; k < source_.tokens().size(); ++k) {
      if (token(k).opener < opener || (token(k).partner >= 0 && token(k).partner < static_cast<int32_t>(i)))
        break;
      if (token(k).opener != opener) continue;
      if (at(k) == ";" || (at(k) == "," && nested == 0)) break;
      if (at(k) == "?") ++nested;
      if (at(k) == ":" && nested > 0) {
        --nested;
      } else if (at(k) == ":" && colon == 0) {
        colon = k;
      }
      end = k;
    }
    if (colon == 0 || end <= colon || colon == i + 1) return;
    add("condition", i + 1, end,
        std::string(source_.between(colon + 1, end)) + " : " +
            std::string(source_.between(i + 1, colon - 1)));
  }

  // Returns first and last token of each argument between brackets.
  std::vector<std::pair<uint32_t, uint32_t>> arguments_of(uint32_t open) const {
    std::vector<std::pair<uint32_t, uint32_t>> out;
    const auto close = static_cast<uint32_t>(token(open).partner);
    uint32_t first = open + 1;
    for (uint32_t k = open + 1; k <= close; ++k) {
      const bool ends = k == close || (at(k) == "," && token(k).opener == static_cast<int32_t>(open));
      if (!ends) continue;
      if (k > first) out.push_back({first, k - 1});
      first = k + 1;
    }
    return out;
  }

  // f(a, b) becomes f(b, a). Commas between angle brackets also separate; such mutants do not compile.
  void swap_arguments(uint32_t open) {
    if (token(open).partner < 0 || open == 0 || token(open - 1).kind != TokenKind::kName) return;
    static const std::set<std::string_view> kWords = {"if", "while", "for", "switch", "return", "catch"};
    if (kWords.count(at(open - 1)) != 0 || is_declaration(open)) return;
    const auto arguments = arguments_of(open);
    for (size_t k = 0; k + 1 < arguments.size(); ++k) {
      const auto [a, b] = arguments[k];
      const auto [c, d] = arguments[k + 1];
      add("arguments", a, d, std::string(source_.between(c, d)) + ", " + std::string(source_.between(a, b)));
    }
  }

  // True for the parameters of a function: "type name(type name, ...) {".
  bool is_declaration(uint32_t open) const {
    const auto close = token(open).partner;
    if (at(close + 1) == "{" && (open < 2 || at(open - 2) != "="))
      return token(open - 1).opener < 0 || is_type_before(open);
    return (at(close + 1) == "const" || at(close + 1) == "noexcept" || at(close + 1) == "override");
  }
  bool is_type_before(uint32_t open) const {
    if (open < 2) return false;
    const Token& before = token(open - 2);
    const std::string_view word = at(open - 2);
    return (before.kind == TokenKind::kName && word != "return") || word == ">" || word == "*" ||
           word == "&" || word == "::";
  }

  void change_index(uint32_t open) {
    if (token(open).partner < 0 || open == 0 || static_cast<uint32_t>(token(open).partner) == open + 1)
      return;
    const bool is_subscript =
        (token(open - 1).kind == TokenKind::kName || at(open - 1) == ")" || at(open - 1) == "]") &&
        token(open - 1).end == token(open).begin && at(open - 1) != "return";
    if (!is_subscript) return;
    const auto last = static_cast<uint32_t>(token(open).partner) - 1;
    const std::string inner(source_.between(open + 1, last));
    add("index", open + 1, last, inner + " + 1");
    add("index", open + 1, last, inner + " - 1");
  }

  // Deletes the expression statement that begins at token i.
  void delete_statement(uint32_t i) {
    if (i >= source_.tokens().size() || token(i).opener < 0 || at(token(i).opener) != "{") return;
    static const std::set<std::string_view> kWords = {
        "return", "if",    "for",       "while",    "switch",  "case",   "default",
        "do",     "else",  "using",     "const",    "auto",    "static", "struct",
        "class",  "break", "continue",  "public",   "private", "throw",  "typedef",
        "enum",   "union", "constexpr", "template", "goto",    "assert", "static_assert"};
    if (token(i).kind != TokenKind::kName && at(i) != "*" && at(i) != "++" && at(i) != "--") return;
    if (kWords.count(at(i)) != 0) return;
    uint32_t end = i;
    while (end < source_.tokens().size() && at(end) != ";") {
      if (at(end) == "}" || at(end) == ":" || at(end) == ",") return;
      end = token(end).partner > static_cast<int32_t>(end) ? static_cast<uint32_t>(token(end).partner) + 1
                                                           : end + 1;
    }
    if (end >= source_.tokens().size() || end == i) return;
    const std::string_view second = at(i + 1);
    static const std::set<std::string_view> kActs = {"(",  ".",  "->", "[",  "=",  "+=",  "-=",  "*=", "/=",
                                                     "|=", "&=", "++", "--", "::", "<<=", ">>=", "^=", "%="};
    if (token(i).kind == TokenKind::kName && kActs.count(second) == 0) return;
    add("statement", i, end - 1, "");
  }

  const std::string& file_;
  const Source& source_;
  std::vector<Mutant> mutants_;
};

}  // namespace

uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  // Mixes the high bits, which the last characters hardly reach.
  hash ^= hash >> 31;
  hash *= 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

std::vector<Mutant> find_mutants(const std::string& file, const Source& source) {
  return Finder(file, source).find();
}

std::string apply(const Mutant& mutant, const std::string& text) {
  return text.substr(0, mutant.offset) + mutant.replacement + text.substr(mutant.offset + mutant.length);
}

std::string diff_of(const Mutant& mutant, const std::string& text) {
  const size_t begin = mutant.offset == 0 ? 0 : text.rfind('\n', mutant.offset - 1) + 1;
  const size_t end = std::min(text.find('\n', mutant.offset + mutant.length), text.size());
  const std::string before = text.substr(begin, end - begin);
  const std::string after = text.substr(begin, mutant.offset - begin) + mutant.replacement +
                            text.substr(mutant.offset + mutant.length, end - mutant.offset - mutant.length);
  std::string out;
  for (const auto& [sign, lines] : {std::pair('-', &before), std::pair('+', &after)}) {
    out += sign;
    for (const char c : *lines) {
      out += c;
      if (c == '\n') out += sign;
    }
    out += '\n';
  }
  return out;
}

}  // namespace etb::mutation
