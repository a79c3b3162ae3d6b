// SPDX-License-Identifier: Apache-2.0
#include "api/ops/custom_ops.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

#include "api/ops/custom_schema.hpp"

namespace etb::ops {

namespace {

constexpr size_t kMaxArguments = 64, kMaxNameBytes = 128;

struct Word {
  std::string_view text;
  BaseType base;
};
constexpr Word kTypes[] = {{"Tensor", BaseType::kTensor},
                           {"Scalar", BaseType::kScalar},
                           {"number", BaseType::kScalar},
                           {"int", BaseType::kInt},
                           {"SymInt", BaseType::kInt},
                           {"float", BaseType::kFloat},
                           {"SymFloat", BaseType::kFloat},
                           {"bool", BaseType::kBool},
                           {"SymBool", BaseType::kBool},
                           {"str", BaseType::kString},
                           {"ScalarType", BaseType::kDtype},
                           {"Layout", BaseType::kLayout},
                           {"MemoryFormat", BaseType::kMemoryFormat},
                           {"Device", BaseType::kDevice}};

// Namespaces whose ops have a meaning for the compiler itself.
constexpr std::string_view kReserved[] = {"aten", "dim_order_ops", "executorch_prim", "higher_order", "prim"};

class Parser {
 public:
  explicit Parser(std::string_view text) : all_(text), rest_(text) {}

  Result<std::unique_ptr<CustomSchema>> run() {
    ETB_TRY(read_name());
    ETB_TRY(read_arguments());
    ETB_TRY(expect("->"));
    ETB_TRY(read_results());
    skip();
    if (!rest_.empty()) return fail("text behind the end");
    ETB_TRY(check());
    const size_t dot = name_.find('.');
    auto made = std::make_unique<CustomSchema>(
        static_cast<uint16_t>(dot), static_cast<uint16_t>(name_.find('.', dot + 1) - dot - 1),
        static_cast<uint8_t>(arguments_.size()), static_cast<uint8_t>(results_.size()));
    made->text = all_;
    made->text_name = std::move(name_);
    made->arguments = std::move(arguments_);
    made->results = std::move(results_);
    return made;
  }

 private:
  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }
  bool take(std::string_view token) {
    skip();
    if (rest_.substr(0, token.size()) != token) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  Status expect(std::string_view token) {
    if (take(token)) return {};
    return fail("expected '" + std::string(token) + "'");
  }
  tl::unexpected<Error> fail(const std::string& why) const {
    return make_error(Code::INVALID_ARGUMENT, "op '" + std::string(all_) + "', character " +
                                                  std::to_string(all_.size() - rest_.size()) + ": " + why);
  }
  std::string_view word() {
    skip();
    size_t length = 0;
    while (length < rest_.size() &&
           (std::isalnum(static_cast<unsigned char>(rest_[length])) != 0 || rest_[length] == '_'))
      ++length;
    const std::string_view found = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return found;
  }
  Result<std::string> name(const char* of_what) {
    const std::string_view found = word();
    if (found.empty() || found.size() > kMaxNameBytes || std::isdigit(static_cast<unsigned char>(found[0])))
      return fail(std::string("expected the name of ") + of_what);
    return std::string(found);
  }

  Status read_name() {
    ETB_ASSIGN(name_, name("a namespace"));
    ETB_TRY(expect("::"));
    ETB_ASSIGN(const std::string base, name("an op"));
    name_ += "." + base + ".";
    if (!take(".")) {
      name_ += "default";
      return {};
    }
    ETB_ASSIGN(const std::string overload, name("an overload"));
    name_ += overload;
    return {};
  }

  Status read_arguments() {
    ETB_TRY(expect("("));
    bool is_keyword = false;
    for (bool is_first = true; !take(")"); is_first = false) {
      if (!is_first) ETB_TRY(expect(","));
      if (!is_keyword && take("*")) {
        is_keyword = true;
        continue;
      }
      CustomArgument made;
      ETB_TRY(read_type(made.fields));
      made.fields.is_keyword = is_keyword;
      ETB_ASSIGN(made.name, name("an argument"));
      if (take("=")) ETB_TRY(read_default(made));
      for (const CustomArgument& other : arguments_)
        if (other.name == made.name) return fail("a second argument '" + made.name + "'");
      arguments_.push_back(std::move(made));
      if (arguments_.size() > kMaxArguments) return fail("too many arguments");
    }
    return {};
  }

  Status read_type(Argument& out) {
    const std::string_view found = word();
    const auto* row =
        std::find_if(std::begin(kTypes), std::end(kTypes), [&](const Word& w) { return w.text == found; });
    if (row == std::end(kTypes)) return fail("no type '" + std::string(found) + "'");
    out.type.base = row->base;
    if (take("(")) {
      const std::string_view letter = word();
      if (letter.size() != 1) return fail("expected the letter of an alias set");
      out.alias_set = letter[0];
      out.is_write = take("!");
      ETB_TRY(expect(")"));
    }
    const bool has_optional_item = take("?");
    if (!take("[")) {
      out.type.is_optional = has_optional_item;
      return {};
    }
    out.type.is_list = true;
    out.type.has_optional_items = has_optional_item;
    if (const std::string_view count = word(); !count.empty()) {
      unsigned size = 0;
      if (std::from_chars(count.data(), count.data() + count.size(), size).ptr !=
              count.data() + count.size() ||
          size == 0 || size > 255)
        return fail("expected the length of a list");
      out.type.list_size = static_cast<uint8_t>(size);
    }
    ETB_TRY(expect("]"));
    out.type.is_optional = take("?");
    return {};
  }

  // Converts the default to the notation of schemas.txt.
  Status read_default(CustomArgument& out) {
    out.fields.has_default = true;
    const Type& type = out.fields.type;
    if (take("None")) {
      if (!type.is_optional) return fail("only an optional argument is None");
      out.default_text = "none";
      return {};
    }
    if (!type.is_list) return read_item(type.base, out.default_text);
    if (!take("[")) {
      if (type.list_size == 0) return fail("expected a list");
      std::string item;
      ETB_TRY(read_item(type.base, item));
      for (int i = 0; i < type.list_size; ++i) out.default_text += (i > 0 ? ", " : "[") + item;
      out.default_text += "]";
      return {};
    }
    out.default_text = "[";
    for (bool is_first = true; !take("]"); is_first = false) {
      if (!is_first) {
        ETB_TRY(expect(","));
        out.default_text += ", ";
      }
      ETB_TRY(read_item(type.base, out.default_text));
    }
    out.default_text += "]";
    return {};
  }

  Status read_item(BaseType base, std::string& out) {
    switch (base) {
      case BaseType::kBool:
        if (take("True")) {
          out += "true";
        } else if (take("False")) {
          out += "false";
        } else {
          return fail("expected True or False");
        }
        return {};
      case BaseType::kString:
        return read_string(out);
      case BaseType::kInt:
      case BaseType::kFloat:
      case BaseType::kScalar:
        return read_number(base, out);
      default:
        return fail("such an argument has no default but None");
    }
  }

  Status read_string(std::string& out) {
    skip();
    const char quote = rest_.empty() ? ' ' : rest_[0];
    const size_t end = quote == '"' || quote == '\'' ? rest_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) return fail("expected a string");
    const std::string_view inside = rest_.substr(1, end - 1);
    const bool is_plain = std::all_of(inside.begin(), inside.end(), [](unsigned char c) {
      return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
    });
    if (!is_plain) return fail("a string with characters that need escapes");
    out += '"' + std::string(inside) + '"';
    rest_.remove_prefix(end + 1);
    return {};
  }

  Status read_number(BaseType base, std::string& out) {
    skip();
    double value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    const std::string_view digits = rest_.substr(0, static_cast<size_t>(end - rest_.data()));
    const bool is_integer = digits.find_first_not_of("-0123456789") == std::string_view::npos;
    // The tables have no notation for inf and nan.
    const bool is_finite = digits.find_first_of("in") == std::string_view::npos;
    if (error != std::errc() || !is_finite || (base == BaseType::kInt && !is_integer))
      return fail("expected a number");
    out += digits;
    if (base == BaseType::kFloat && is_integer) out += ".0";
    rest_.remove_prefix(digits.size());
    return {};
  }

  Status read_results() {
    if (!take("(")) return read_result();
    for (bool is_first = true; !take(")"); is_first = false) {
      if (!is_first) ETB_TRY(expect(","));
      ETB_TRY(read_result());
      skip();
      if (!rest_.empty() && rest_[0] != ',' && rest_[0] != ')') word();  // a result may have a name
      if (results_.size() > kMaxArguments) return fail("too many results");
    }
    return {};
  }
  Status read_result() {
    CustomArgument made;
    ETB_TRY(read_type(made.fields));
    results_.push_back(std::move(made));
    return {};
  }

  Status check() {
    const std::string_view space = std::string_view(name_).substr(0, name_.find('.'));
    if (std::find(std::begin(kReserved), std::end(kReserved), space) != std::end(kReserved) ||
        find_schema(name_) != nullptr)
      return fail("the name is taken");
    size_t out_count = 0;
    for (CustomArgument& argument : arguments_) {
      Argument& row = argument.fields;
      if (row.is_write && !row.is_keyword)
        return fail("'" + argument.name + "' is written: declare an op that returns what is new");
      if (row.alias_set != 0 && !row.is_write) return fail("views of an op's own are not supported");
      row.is_out = row.is_write;
      out_count += row.is_out ? 1 : 0;
      if (row.is_out && row.type.base != BaseType::kTensor) return fail("only a tensor can be written");
    }
    if (results_.empty()) return fail("an op needs a result");
    for (const CustomArgument& result : results_) {
      const Type& type = result.fields.type;
      const bool is_result = type.base == BaseType::kTensor && !type.is_optional &&
                             !type.has_optional_items && (!type.is_list || results_.size() == 1);
      if (!is_result) return fail("results are tensors, or one list of tensors");
      if ((result.fields.alias_set != 0) != (out_count > 0))
        return fail("results and 'out' arguments do not belong together");
    }
    if (out_count != 0 && out_count != results_.size())
      return fail("as many 'out' arguments as results are needed");
    return {};
  }

  std::string_view all_, rest_;
  std::string name_;
  std::vector<CustomArgument> arguments_, results_;
};

bool is_out_variant(const CustomSchema& schema) {
  return std::any_of(schema.arguments.begin(), schema.arguments.end(),
                     [](const CustomArgument& row) { return row.fields.is_out; });
}

// True if `out` is `op` with out arguments for its results.
bool are_related(const CustomSchema& op, const CustomSchema& out) {
  if (op.op_namespace() != out.op_namespace() || op.base_name() != out.base_name()) return false;
  size_t next = 0;
  for (const CustomArgument& row : out.arguments) {
    if (row.fields.is_out) continue;
    if (next == op.arguments.size()) return false;
    const CustomArgument& same = op.arguments[next++];
    if (same.name != row.name || same.fields.type != row.fields.type) return false;
  }
  return next == op.arguments.size() && out.results.size() == op.results.size();
}

std::unique_ptr<CustomSchema> make_out_variant(const CustomSchema& op) {
  const std::string overload(op.overload_name());
  auto made = std::make_unique<CustomSchema>(
      static_cast<uint16_t>(op.op_namespace().size()), static_cast<uint16_t>(op.base_name().size()),
      static_cast<uint8_t>(op.arguments.size() + op.results.size()), static_cast<uint8_t>(op.results.size()));
  made->text_name = op.text_name.substr(0, op.text_name.size() - overload.size()) +
                    (overload == "default" ? "out" : overload + "_out");
  made->arguments = op.arguments;
  made->results = op.results;
  for (size_t i = 0; i < op.results.size(); ++i) {
    CustomArgument place = op.results[i];
    place.name = op.results.size() == 1 ? "out" : "out" + std::to_string(i);
    place.fields.is_keyword = place.fields.is_out = place.fields.is_write = true;
    place.fields.alias_set = made->results[i].fields.alias_set = static_cast<char>('a' + i % 26);
    made->arguments.push_back(std::move(place));
  }
  return made;
}

}  // namespace

std::string dotted_name(std::string_view text) {
  const size_t colons = text.find("::");
  if (colons == std::string_view::npos) return std::string(text);
  std::string out = std::string(text.substr(0, colons)) + "." + std::string(text.substr(colons + 2));
  if (text.find('.', colons) == std::string_view::npos) out += ".default";
  return out;
}

CustomOps::CustomOps() = default;
CustomOps::~CustomOps() = default;

const Schema& CustomOps::as_schema(const CustomSchema& own) noexcept { return own; }
std::string_view CustomOps::text(const Schema& own) noexcept { return CustomSchema::of(own).text; }

const Schema* CustomOps::find(std::string_view name) const noexcept {
  const auto found = schemas_.find(name);
  return found == schemas_.end() ? nullptr : found->second.get();
}

Status CustomOps::declare(std::string_view text) {
  if (text.size() > kMaxTextBytes || schemas_.size() >= kMaxOps)
    return make_error(Code::OUT_OF_RESOURCES, "too many ops, or a line too long");
  ETB_ASSIGN(auto made, Parser(text).run());
  const auto found = schemas_.find(made->text_name);
  if (found == schemas_.end() || found->second->text.empty()) return add(std::move(made));
  if (found->second->text == text) return {};
  return make_error(Code::ALREADY_EXISTS,
                    "op '" + std::string(text) + "' is declared otherwise: '" + found->second->text + "'");
}

Status CustomOps::add(std::unique_ptr<CustomSchema> made) {
  CustomSchema& schema = *made;
  std::unique_ptr<CustomSchema>& place = schemas_[schema.text_name];
  // A declaration may replace a generated out variant only if it is a variant of the same op. Otherwise
  // that op would have none.
  if (place != nullptr) {
    for (const auto& [name, op] : schemas_) {
      const bool fits = is_out_variant(schema) && are_related(*op, schema);
      if (op->out == place.get() && !fits)
        return make_error(Code::ALREADY_EXISTS, "op '" + schema.text +
                                                    "' has the name that the out variant of '" + op->text +
                                                    "' gets: declare that one as well");
    }
  }
  std::unique_ptr<CustomSchema> old = std::exchange(place, std::move(made));
  link(schema);
  return {};
}

// Links an op to its declared out variant, or generates one.
void CustomOps::link(CustomSchema& schema) {
  if (is_out_variant(schema)) {
    for (const auto& [name, op] : schemas_)
      if (!is_out_variant(*op) && are_related(*op, schema)) op->out = &schema;
    return;
  }
  for (const auto& [name, other] : schemas_)
    if (is_out_variant(*other) && are_related(schema, *other)) schema.out = other.get();
  if (schema.out != nullptr) return;
  std::unique_ptr<CustomSchema> variant = make_out_variant(schema);
  std::unique_ptr<CustomSchema>& place = schemas_[variant->text_name];
  if (place == nullptr) {
    schema.out = variant.get();
    place = std::move(variant);
  }
}

}  // namespace etb::ops
