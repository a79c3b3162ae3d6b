// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/ir/argument_text.hpp"

#include <algorithm>
#include <cctype>

namespace etb::ir {

namespace {

constexpr int kMaxListDepth = 8;

template <class T>
std::vector<T> collect(const std::vector<Argument>& items) {
  std::vector<T> list;
  for (const Argument& item : items) list.push_back(*get_if<T>(item));
  return list;
}

// Returns a list of items of one kind; nullopt if kinds differ.
std::optional<Argument> make_list(const std::vector<Argument>& items) {
  const auto all_are = [&](auto is_kind) { return std::all_of(items.begin(), items.end(), is_kind); };
  if (all_are([](const Argument& a) { return get_if<Dim>(a) != nullptr; })) return collect<Dim>(items);
  if (all_are([](const Argument& a) { return get_if<double>(a) != nullptr; })) return collect<double>(items);
  if (all_are([](const Argument& a) { return get_if<bool>(a) != nullptr; })) return collect<bool>(items);
  if (all_are([](const Argument& a) { return get_if<std::string>(a) != nullptr; }))
    return StringList{collect<std::string>(items)};
  ValueList values;
  for (const Argument& item : items) {
    if (const auto* ref = get_if<ValueRef>(item)) {
      values.ids.push_back(ref->id);
    } else if (get_if<Nothing>(item) != nullptr) {
      values.ids.push_back(kNoValue);
    } else {
      return std::nullopt;
    }
  }
  return values;
}

}  // namespace

Result<Dim> ArgumentReader::read_dim() {
  auto parsed = symbols_.parse(in_.rest());
  if (!parsed) return in_.fail(parsed.error().message);
  return *parsed;
}

Result<Argument> ArgumentReader::read(const ops::Argument* row) {
  if (in_.take("[")) return read_list(row);
  if (in_.take("%")) {
    ETB_ASSIGN(const ValueId id, names_.value(in_.word()));
    return Argument(ValueRef{id});
  }
  if (in_.peek("\"")) {
    ETB_ASSIGN(std::string text, in_.text());
    return Argument(std::move(text));
  }
  if (in_.take("@")) {
    ETB_ASSIGN(const GraphRef graph, names_.graph(in_.word()));
    return Argument(graph);
  }
  return read_word();
}

Result<Argument> ArgumentReader::read_word() {
  const std::string_view before = in_.rest();
  const std::string_view word = in_.word();
  if (word == "none") return Argument(Nothing{});
  if (word == "true" || word == "false") return Argument(word == "true");
  if (word == "strided") return Argument(Layout::kStrided);
  if (const auto dtype = ops::find_dtype(word)) return Argument(*dtype);
  for (const auto& [name, format] :
       {std::pair{"contiguous", MemoryFormat::kContiguous}, std::pair{"preserve", MemoryFormat::kPreserve},
        std::pair{"channels_last", MemoryFormat::kChannelsLast},
        std::pair{"channels_last_3d", MemoryFormat::kChannelsLast3d}}) {
    if (word == name) return Argument(format);
  }
  if (word == "device") {
    ETB_TRY(in_.expect("("));
    ETB_ASSIGN(std::string name, in_.text());
    ETB_TRY(in_.expect(")"));
    return Argument(Device{std::move(name)});
  }
  in_.rest() = before;
  return read_number();
}

// A float has a point, an exponent, inf or nan. Any other number is a formula.
Result<Argument> ArgumentReader::read_number() {
  in_.skip_blank();
  const std::string_view rest = in_.rest();
  size_t length = 0;
  while (length < rest.size() &&
         (std::isalnum(static_cast<unsigned char>(rest[length])) != 0 || rest[length] == '.' ||
          rest[length] == '-' || (rest[length] == '+' && length > 0 && rest[length - 1] == 'e'))) {
    ++length;
  }
  const std::string_view token = rest.substr(0, length);
  const bool starts_as_number =
      !token.empty() && (std::isdigit(static_cast<unsigned char>(token[0])) != 0 || token[0] == '-');
  if (token == "inf" || token == "nan" || token == "-inf" ||
      (starts_as_number && token.find_first_of(".e") != std::string_view::npos)) {
    ETB_ASSIGN(const double value, in_.number<double>());
    return Argument(value);
  }
  ETB_ASSIGN(const Dim dim, read_dim());
  return Argument(dim);
}

// The items decide the kind. An empty list has the schema's kind, or is a list of values.
Result<Argument> ArgumentReader::read_list(const ops::Argument* row) {
  if (depth_ == kMaxListDepth) return in_.fail("lists nest too deeply");
  std::vector<Argument> items;
  ++depth_;
  while (!in_.take("]")) {
    if (!items.empty()) ETB_TRY(in_.expect(","));
    ETB_ASSIGN(Argument item, read(nullptr));
    items.push_back(std::move(item));
  }
  --depth_;
  if (items.empty()) {
    const ops::BaseType base = row == nullptr ? ops::BaseType::kTensor : row->type.base;
    if (base == ops::BaseType::kFloat) return Argument(FloatList{});
    if (base == ops::BaseType::kBool) return Argument(BoolList{});
    if (base != ops::BaseType::kTensor) return Argument(Dims{});
    return Argument(ValueList{});
  }
  std::optional<Argument> list = make_list(items);
  if (!list) return in_.fail("items of a list differ in kind");
  return *std::move(list);
}

Status read_arguments(Cursor& in, const ops::Schema* schema,
                      const std::function<Status(size_t index, const ops::Argument* row)>& take) {
  std::vector<bool> is_given(schema == nullptr ? 0 : schema->argument_count(), false);
  ETB_TRY(in.expect("("));
  for (size_t position = 0; !in.take(")"); ++position) {
    if (position > 0) ETB_TRY(in.expect(","));
    if (schema == nullptr) {
      ETB_TRY(take(position, nullptr));
      continue;
    }
    size_t index = position;
    const std::string_view before = in.rest();
    const std::string_view word = in.word();
    if (!word.empty() && in.take("=")) {
      const int found = schema->find_argument(word);
      if (found < 0)
        return in.fail(std::string(schema->name()) + " has no argument '" + std::string(word) + "'");
      index = static_cast<size_t>(found);
    } else {
      in.rest() = before;
    }
    if (index >= is_given.size()) return in.fail("too many arguments for " + std::string(schema->name()));
    const ops::Argument row = schema->argument(static_cast<uint32_t>(index));
    ETB_TRY(take(index, &row));
    is_given[index] = true;
  }
  for (size_t i = 0; i < is_given.size(); ++i) {
    const ops::Argument row = schema->argument(static_cast<uint32_t>(i));
    if (!is_given[i] && !row.has_default)
      return in.fail(std::string(schema->name()) + " needs '" + std::string(row.name) + "'");
  }
  return {};
}

}  // namespace etb::ir
