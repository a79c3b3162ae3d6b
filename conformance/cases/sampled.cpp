// SPDX-License-Identifier: Apache-2.0
// Calls of the ops that no other generator has: attributes and sizes of PyTorch's samples, with other numbers. Each row of
// sampled_calls.def is a text; tests/opinfo/make_suite_calls.py writes the file and describes its fields.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/generators.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

constexpr const char* kCalls[] = {
#define ETB_SAMPLED_CALL(text) text,
#include "conformance/cases/sampled_calls.def"
#undef ETB_SAMPLED_CALL
};

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t at = std::min(text.find(by), text.size());
    out.push_back(text.substr(0, at));
    text.remove_prefix(std::min(at + 1, text.size()));
  }
  return out;
}

double number(std::string_view text) { return std::strtod(std::string(text).c_str(), nullptr); }
int64_t integer(std::string_view text) { return std::strtoll(std::string(text).c_str(), nullptr, 10); }

std::vector<int64_t> integers(std::string_view text) {
  std::vector<int64_t> out;
  for (const std::string_view one : split(text, ',')) out.push_back(integer(one));
  return out;
}

etb_dtype parse_dtype(std::string_view text) {
  for (const etb_dtype dtype : kAllDtypes)
    if (text == short_name(dtype)) return dtype;
  return ETB_DTYPE_FLOAT32;
}

// "f32[2,3]", or "f32[2,3]@10" with a dim order. `out_rest` is the text after it.
Shape parse_shape(std::string_view text, std::string_view& out_rest) {
  const size_t open = text.find('['), close = text.find(']');
  Shape shape = {parse_dtype(text.substr(0, open)), integers(text.substr(open + 1, close - open - 1)), {}};
  out_rest = text.substr(close + 1);
  if (!out_rest.starts_with('@')) return shape;
  for (const char c : out_rest.substr(1, shape.sizes.size()))
    shape.dim_order.push_back(static_cast<uint8_t>(c - '0'));
  out_rest.remove_prefix(1 + shape.sizes.size());
  return shape;
}

// Adds numbers to the diagonals of matrices that are larger than the sum of any row, and different.
void enlarge_diagonal(TensorData& data, double width) {
  const std::vector<int64_t>& sizes = data.shape.sizes;
  const int64_t rows = sizes[sizes.size() - 2], columns = sizes.back();
  for (int64_t matrix = 0; matrix < data.shape.numel() / (rows * columns); ++matrix)
    for (int64_t i = 0; i < std::min(rows, columns); ++i) {
      const int64_t at = (matrix * rows + i) * columns + i;
      const double old = load_element(data.shape.dtype, data.bytes.data(), at);
      store_element(data.shape.dtype, data.bytes.data(), at,
                    old + width * static_cast<double>(std::max(rows, columns) * (i + 1)));
    }
}

// Makes the elements of "(-4,4)": numbers of an interval; with ~ before it, matrices with a large diagonal; with # before
// it, whole numbers, whose sums are exact; "{0,1}": these elements, again and again.
TensorData make_elements(const Shape& shape, std::string_view data, Random& random) {
  const bool has_diagonal = data[0] == '~', is_whole = data[0] == '#';
  if (has_diagonal || is_whole) data.remove_prefix(1);
  const std::vector<std::string_view> numbers = split(data.substr(1, data.size() - 2), ',');
  if (is_floating(shape.dtype) && !is_whole) {
    const Domain domain = {number(numbers.at(0)), number(numbers.at(1))};
    TensorData made = make_values(shape, Values::kStatistical, domain, 0, random);
    if (has_diagonal) enlarge_diagonal(made, domain.high - domain.low);
    return made;
  }
  TensorData made = {
      shape, std::vector<std::byte>(static_cast<size_t>(shape.numel()) * element_nbytes(shape.dtype))};
  for (int64_t i = 0; i < shape.numel(); ++i) {
    const int64_t value = data[0] == '{' ? integer(numbers.at(static_cast<size_t>(i) % numbers.size()))
                                         : random.between(integer(numbers.at(0)), integer(numbers.at(1)));
    store_element(shape.dtype, made.bytes.data(), i, static_cast<double>(value));
  }
  return made;
}

// Takes "f32[2,3](-4,4)", and returns the number of the value.
using AddTensor = std::function<uint32_t(std::string_view text)>;

// "dim:i1": a name and a value, whose first letter is its kind.
graph::ArgumentDesc make_argument(const AddTensor& add_tensor, std::string_view text) {
  const size_t colon = text.find(':');
  const std::string name(text.substr(0, colon));
  const std::string_view value = text.substr(colon + 2);
  switch (text[colon + 1]) {
    case 'N':
      return graph::none_arg(name);
    case 'I':
      return graph::int_arg(integer(value), name);
    case 'D':
      return graph::float_arg(number(value), name);
    case 'B':
      return graph::bool_arg(value == "1", name);
    case 'S':
      return graph::string_arg(std::string(value), name);
    case 'L':
      return graph::ints_arg(integers(value), name);
    case 'T':
      return graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, integer(value), name);
    case 'M':
      return graph::bools_arg(integers(value), name);
    case 'F': {
      std::vector<double> floats;
      for (const std::string_view one : split(value, ',')) floats.push_back(number(one));
      return graph::floats_arg(floats, name);
    }
    case 'V': {
      std::vector<uint32_t> values;
      for (const std::string_view one : split(value, ';')) values.push_back(add_tensor(one));
      return graph::values_arg(values, name);
    }
    default:
      return graph::value_arg(add_tensor(text.substr(colon + 1)), name);
  }
}

// Sums of more terms than a rounding of their largest intermediate covers are not in the table, so 64 roundings are many.
ErrorModel error_model_of_call(std::string_view rule) {
  ErrorModel out;
  if (rule == "x") return out;
  out.rule = Rule::kRounded;
  out.ulps = 64;
  out.steps = 64;
  out.magnitude = [largest = number(rule)](const std::vector<TensorData>&) {
    return std::vector<double>{largest};
  };
  return out;
}

Result<BuiltCase> build_call(std::string_view row, std::string_view name) {
  const std::vector<std::string_view> fields = split(row, '|');  // op, dtype, rule, arguments, results
  CaseBuilder builder(name);
  const AddTensor add_tensor = [&](std::string_view text) {
    std::string_view data;
    const Shape shape = parse_shape(text, data);
    return builder.input(make_elements(shape, data, builder.random()));
  };
  std::vector<graph::ArgumentDesc> arguments;
  for (const std::string_view text : split(fields.at(3), ' '))
    arguments.push_back(make_argument(add_tensor, text));
  std::vector<Shape> results;
  for (const std::string_view text : split(fields.at(4), ' ')) {
    std::string_view rest;
    results.push_back(parse_shape(text, rest));
  }
  const uint32_t first = builder.node(std::string(fields[0]), std::move(arguments), results);
  for (uint32_t i = 0; i < results.size(); ++i) builder.output(first + i);
  return builder.finish(error_model_of_call(fields[2]));
}

// ---- calls whose first dimension changes from run to run

struct GrownCall {
  const char* op;
  int call;  // of the op, from 0
};
// Calls whose operands and results have a common first dimension that may have any size.
constexpr GrownCall kGrownCalls[] = {
#define ETB_GROWN_CALL(op, call) {op, call},
#include "conformance/cases/grown_calls.def"
#undef ETB_GROWN_CALL
};

bool is_grown(std::string_view op, int call) {
  return std::any_of(std::begin(kGrownCalls), std::end(kGrownCalls),
                     [&](const GrownCall& one) { return one.op == op && one.call == call; });
}

OpForm grown_form(std::string_view row, int call, int64_t size) {
  const std::vector<std::string_view> fields = split(row, '|');
  OpForm form;
  form.op = std::string(fields[0]);
  form.group = "call";
  form.word = "call_" + std::to_string(call);
  int64_t old_size = -1;
  const auto grow = [&](Shape& shape) {
    if (shape.sizes.empty()) return;
    if (old_size < 0) old_size = shape.sizes[0];
    if (shape.sizes[0] == old_size) shape.sizes[0] = size;
  };
  const AddTensor add_tensor = [&](std::string_view text) {
    std::string_view data;
    Operand operand{parse_shape(text, data)};
    grow(operand.shape);
    operand.fill = [data](TensorData& made, Random& random) {
      made = make_elements(made.shape, data, random);
    };
    form.operands.push_back(std::move(operand));
    return static_cast<uint32_t>(form.operands.size() - 1);
  };
  for (const std::string_view text : split(fields.at(3), ' '))
    form.args.push_back(make_argument(add_tensor, text));
  for (const std::string_view text : split(fields.at(4), ' ')) {
    std::string_view rest;
    form.results.push_back(parse_shape(text, rest));
    grow(form.results.back());
  }
  form.error_model = error_model_of_call(fields[2]);
  return form;
}

}  // namespace

void add_sampled(CaseList& out) {
  std::string before;
  int count = 0;
  size_t grown_count = 0;
  for (const std::string_view row : kCalls) {
    const size_t op_end = row.find('|'), dtype_end = row.find('|', op_end + 1);
    const std::string op(row.substr(0, op_end));
    count = op == before ? count + 1 : 0;
    before = op;
    const std::string_view dtype = row.substr(op_end + 1, dtype_end - op_end - 1);
    const size_t open = row.find('[', dtype_end), close = row.find(']', open);
    std::string sizes(row.substr(open + 1, close - open - 1));
    for (char& c : sizes) c = c == ',' ? 'x' : c;
    out.add({"call." + op_word(op).substr(3) + "." + std::string(dtype) + "." +
                 (sizes.empty() ? "scalar" : sizes) + "." + std::to_string(count),
             op, parse_dtype(dtype), [row](std::string_view name) { return build_call(row, name); }});
    if (!is_grown(op, count)) continue;
    const OpForm form = grown_form(row, count, 1);
    add_dynamic_form(
        out, parse_dtype(dtype), [row, count](const Sizes& now) { return grown_form(row, count, now[0]); },
        form.operands.at(0).shape.sizes, Moving::kFirst, static_cast<Order>(grown_count++ % 3));
  }
}

}  // namespace etb::conformance
