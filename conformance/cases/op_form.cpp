// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/op_form.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "conformance/cases/elementwise.hpp"

namespace etb::conformance {
namespace {

using graph::ArgumentDesc;

std::string number_text(double value) {
  std::string text = std::to_string(value);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  for (char& c : text) c = c == '-' ? 'm' : c == '.' ? 'p' : c;
  return text;
}

std::string list_text(const std::vector<int64_t>& list) {
  std::string text;
  for (const int64_t item : list) text += (text.empty() ? "" : "_") + number_text(static_cast<double>(item));
  return text.empty() ? "none" : text;
}

// Returns "keepdim_1" of an argument, or "" of one that only names operands.
std::string argument_text(const ArgumentDesc& arg) {
  switch (arg.kind) {
    case ETB_GRAPH_ARGUMENT_VALUE:
    case ETB_GRAPH_ARGUMENT_VALUES:
      return "";
    case ETB_GRAPH_ARGUMENT_NONE:
      return "no_" + arg.name;
    case ETB_GRAPH_ARGUMENT_FLOAT:
      return arg.name + "_f" + number_text(arg.as_float);
    case ETB_GRAPH_ARGUMENT_STRING:
      return arg.name + "_" + arg.text;
    case ETB_GRAPH_ARGUMENT_INTS:
      return arg.name + "_" + list_text(arg.ints);
    case ETB_GRAPH_ARGUMENT_DTYPE:
      return arg.name + "_" + short_name(static_cast<etb_dtype>(arg.as_int));
    default:
      return arg.name + "_" + number_text(static_cast<double>(arg.as_int));
  }
}

std::vector<uint32_t> values_of(const ArgumentDesc& arg) {
  if (arg.kind == ETB_GRAPH_ARGUMENT_VALUE) return {arg.value};
  return arg.kind == ETB_GRAPH_ARGUMENT_VALUES ? arg.values : std::vector<uint32_t>{};
}

// Returns the words of all arguments: numbers, and "twice" where one value is two operands.
std::string arguments_text(const OpForm& form) {
  std::string text;
  size_t used = 0;
  for (const ArgumentDesc& arg : form.args) {
    used += values_of(arg).size();
    if (const std::string word = argument_text(arg); !word.empty()) text += "." + word;
  }
  if (used > form.operands.size()) text += ".twice";
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string operand_text(const Operand& operand) {
  return shape_text(operand.shape) + (operand.is_constant ? "_w" : "");
}

std::string data_text(const OpForm& form) {
  std::string text;
  for (const Operand& operand : form.operands)
    if (!operand.fill && text.find(to_text(operand.data)) == std::string::npos)
      text += (text.empty() ? "" : "_") + std::string(to_text(operand.data));
  return text.empty() ? "stat" : text;
}

bool is_edge(const OpForm& form) {
  const auto has_special = [](const Operand& operand) {
    return operand.shape.numel() == 0 || operand.data == Data::kSpecial || operand.data == Data::kNan;
  };
  return std::any_of(form.operands.begin(), form.operands.end(), has_special);
}

double wide_value(Random& random) {
  const double value = std::ldexp(1 + random.uniform(), static_cast<int>(random.between(-12, 11)));
  return random.between(0, 1) != 0 ? value : -value;
}

double value_at(const Operand& operand, Random& random, double plain) {
  const bool is_real = is_floating(operand.shape.dtype);
  switch (operand.data) {
    case Data::kTies:
      return static_cast<double>(random.between(0, 2)) + (is_real ? 0.5 : 0);
    case Data::kMean:
      return is_real ? 1000 + 2 * random.uniform() - 1 : static_cast<double>(90 + random.between(0, 2));
    case Data::kWide:
      return is_real ? wide_value(random) : static_cast<double>(random.between(-120, 120));
    default:
      return plain;
  }
}

}  // namespace

const char* to_text(Data data) {
  constexpr const char* kTexts[] = {"stat", "exact", "special", "ties", "mean", "wide", "nan"};
  return kTexts[static_cast<size_t>(data)];
}

TensorData make_data(const Operand& operand, uint32_t number, Random& random) {
  const Shape& shape = operand.shape;
  const Values base = operand.data == Data::kExact     ? Values::kExact
                      : operand.data == Data::kSpecial ? Values::kSpecial
                                                       : Values::kStatistical;
  TensorData out = make_values(shape, base, operand.domain, number, random);
  if (operand.fill) {
    operand.fill(out, random);
    return out;
  }
  if (shape.dtype == ETB_DTYPE_BOOL || base != Values::kStatistical || operand.data == Data::kStat)
    return out;
  if (operand.data == Data::kNan) {
    const TensorData special = make_values(shape, Values::kSpecial, operand.domain, 0, random);
    const size_t step = element_nbytes(shape.dtype);
    for (int64_t i = static_cast<int64_t>(number) + 3; i < shape.numel(); i += 7) {
      const size_t at = static_cast<size_t>(i) * step;
      if (is_floating(shape.dtype))
        store_element(shape.dtype, out.bytes.data(), i, std::numeric_limits<double>::quiet_NaN());
      else
        std::copy_n(special.bytes.begin() + static_cast<std::ptrdiff_t>(at), step,
                    out.bytes.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return out;
  }
  for (int64_t i = 0; i < shape.numel(); ++i)
    store_element(shape.dtype, out.bytes.data(), i, value_at(operand, random, 0));
  return out;
}

std::string form_name(const OpForm& form, etb_dtype dtype) {
  std::string word = op_word(form.op);
  if (is_edge(form)) word = "edge" + word.substr(2);
  std::string shapes;
  for (const Operand& operand : form.operands) shapes += (shapes.empty() ? "" : "__") + operand_text(operand);
  return word + "." + short_name(dtype) + "." + (shapes.empty() ? "none" : shapes) +
         (form.word.empty() ? "" : "." + form.word) + arguments_text(form) + "." + data_text(form);
}

namespace {

void add_nodes(CaseBuilder& builder, const OpForm& form, const std::vector<FormNode>& nodes) {
  if (!nodes.empty()) {
    uint32_t last = 0;
    for (const FormNode& node : nodes) last = builder.node(node.op, node.args, node.result);
    return builder.output(last);
  }
  const uint32_t first = builder.node(form.op, form.args, form.results, form.result_lengths);
  for (uint32_t i = 0; i < form.results.size(); ++i)
    if (is_output(form, i)) builder.output(first + i);
}

void add_operands(CaseBuilder& builder, const OpForm& form) {
  uint32_t number = 0;
  for (const Operand& operand : form.operands) {
    TensorData data = make_data(operand, number++, builder.random());
    if (operand.is_constant)
      builder.constant(data);
    else
      builder.input(std::move(data));
  }
}

Result<BuiltCase> build_form(const OpForm& form, std::string_view name) {
  CaseBuilder builder(name);
  add_operands(builder, form);
  add_nodes(builder, form, form.nodes);
  ETB_ASSIGN(BuiltCase built, builder.finish(form.error_model));
  built.widen_integers = form.widen_integers;
  if (form.reference.empty()) return built;
  CaseBuilder parts(name);
  add_operands(parts, form);
  add_nodes(parts, form, form.reference);
  ETB_ASSIGN(BuiltCase reference, parts.finish({}));
  built.reference_image = std::move(reference.image);
  return built;
}

}  // namespace

bool is_output(const OpForm& form, uint32_t result) {
  return form.outputs.empty() ||
         std::find(form.outputs.begin(), form.outputs.end(), result) != form.outputs.end();
}

void add_form(CaseList& out, etb_dtype dtype, OpForm form, const std::string& more) {
  const std::string name = form_name(form, dtype) + (more.empty() ? "" : "." + more);
  const std::string op = form.op;
  auto kept = std::make_shared<const OpForm>(std::move(form));
  out.add({name, op, dtype, [kept](std::string_view full_name) { return build_form(*kept, full_name); }});
}

std::vector<uint8_t> order_of(size_t rank, uint32_t number) {
  if (number == 1 && rank > 3) return channels_last(rank);
  if (number == 0 || rank < 2) return {};
  std::vector<uint8_t> order(rank);
  std::iota(order.rbegin(), order.rend(), uint8_t{0});
  return order;
}

bool is_drawn(const std::string& op, etb_dtype dtype, size_t row) {
  if (dtype == ETB_DTYPE_FLOAT32) return true;
  const size_t start = hash_text(op) % 6 + static_cast<size_t>(dtype);
  return dtype == ETB_DTYPE_FLOAT16 ? row % 2 == start % 2 : row % 6 == start % 6;
}

ErrorModel exact_model(Rule rule) { return error_model_of(rule, 0); }

ErrorModel rounded_model(double ulps, double steps, const Magnitude& magnitude) {
  ErrorModel out = error_model_of(Rule::kRounded, ulps, steps);
  out.magnitude = magnitude;
  return out;
}

ErrorModel contraction_model(int64_t length, bool is_exact_probe) {
  ErrorModel out;
  out.rule = Rule::kContraction;
  out.length = length;
  out.is_exact_probe = is_exact_probe;
  out.has_input_magnitude = true;
  return out;
}

std::vector<double> twice_the_largest(const std::vector<TensorData>& inputs) {
  double largest = 0;
  for (const TensorData& input : inputs)
    for (int64_t i = 0; i < input.shape.numel(); ++i) {
      const double value = std::abs(load_element(input.shape.dtype, input.bytes.data(), i));
      if (std::isfinite(value)) largest = std::max(largest, value);
    }
  return {2 * largest};
}

}  // namespace etb::conformance
