// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/op_form.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "conformance/cases/design.hpp"

namespace etb::conformance {
namespace {

using graph::ArgumentDesc;

std::string list_text(const std::vector<int64_t>& list) {
  std::string text;
  for (const int64_t item : list) text += (text.empty() ? "" : "_") + number_text(item);
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
      return arg.name + "_f" + real_text(arg.as_float);
    case ETB_GRAPH_ARGUMENT_STRING:
      return arg.name + "_" + arg.text;
    case ETB_GRAPH_ARGUMENT_INTS:
      return arg.name + "_" + list_text(arg.ints);
    case ETB_GRAPH_ARGUMENT_DTYPE:
      return arg.name + "_" + short_name(static_cast<etb_dtype>(arg.as_int));
    default:
      return arg.name + "_" + number_text(arg.as_int);
  }
}

std::vector<uint32_t> numbers_of(const ArgumentDesc& arg) {
  if (arg.kind == ETB_GRAPH_ARGUMENT_VALUE) return {arg.value};
  return arg.kind == ETB_GRAPH_ARGUMENT_VALUES ? arg.values : std::vector<uint32_t>{};
}

// Returns the words of all arguments: numbers, and "twice" where one value is two operands.
std::string arguments_text(const OpForm& form) {
  std::string text;
  size_t used = 0;
  for (const ArgumentDesc& arg : form.args) {
    used += numbers_of(arg).size();
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
    if (!operand.fill && text.find(to_text(operand.values)) == std::string::npos)
      text += (text.empty() ? "" : "_") + std::string(to_text(operand.values));
  return text.empty() ? "stat" : text;
}

bool is_edge(const OpForm& form) {
  const auto has_special = [](const Operand& operand) {
    return operand.shape.numel() == 0 || operand.values == Values::kSpecial || operand.values == Values::kNan;
  };
  return std::any_of(form.operands.begin(), form.operands.end(), has_special);
}

}  // namespace

TensorData make_data(const Operand& operand, uint32_t number, Random& random) {
  TensorData out = make_values(operand.shape, operand.values, operand.domain, number, random);
  if (operand.fill) operand.fill(out, random);
  return out;
}

Operand constant_of(const Shape& shape, const std::function<double(int64_t)>& element) {
  Operand out{shape};
  out.is_constant = true;
  out.fill = [element](TensorData& data, Random&) { data = filled(data.shape, element); };
  return out;
}

uint32_t FormNodes::add(const std::string& op, std::vector<graph::ArgumentDesc> args,
                        std::vector<Shape> results) {
  const uint32_t first = count_;
  count_ += static_cast<uint32_t>(results.size());
  nodes_.emplace_back(op, std::move(args), std::move(results));
  return first;
}

std::string form_name(const OpForm& form, etb_dtype dtype) {
  const std::string group = !form.group.empty() ? form.group : is_edge(form) ? "edge" : "op";
  const std::string word = group + op_word(form.op).substr(2);
  std::string shapes;
  for (const Operand& operand : form.operands) shapes += (shapes.empty() ? "" : "__") + operand_text(operand);
  return word + "." + short_name(dtype) + "." + (shapes.empty() ? "none" : shapes) +
         (form.word.empty() ? "" : "." + form.word) + arguments_text(form) + "." + data_text(form);
}

namespace {

// Adds nodes, and outputs by their number among the results.
void add_nodes(CaseBuilder& builder, const std::vector<FormNode>& nodes,
               const std::vector<uint32_t>& outputs) {
  std::vector<uint32_t> values;
  uint32_t last = 0;
  for (const FormNode& node : nodes) {
    last = builder.node(node.op, node.args, node.results);
    for (uint32_t i = 0; i < node.results.size(); ++i) values.push_back(last + i);
  }
  for (const uint32_t output : outputs) builder.output(values[output]);
  if (outputs.empty()) builder.output(last);
}

void add_op(CaseBuilder& builder, const OpForm& form) {
  const uint32_t first = builder.node(form.op, form.args, form.results, form.result_lengths);
  for (uint32_t i = 0; i < form.results.size(); ++i)
    if (is_output(form, i)) builder.output(first + i);
}

std::vector<TensorData> add_operands(CaseBuilder& builder, const OpForm& form) {
  std::vector<TensorData> made;
  for (const Operand& operand : form.operands) {
    made.push_back(make_data(operand, static_cast<uint32_t>(made.size()), builder.random()));
    if (operand.is_constant)
      builder.constant(made.back());
    else
      builder.input(made.back());
  }
  return made;
}

Result<BuiltCase> build_form(const OpForm& form, std::string_view name) {
  CaseBuilder builder(name);
  add_operands(builder, form);
  if (form.nodes.empty())
    add_op(builder, form);
  else
    add_nodes(builder, form.nodes, form.outputs);
  ETB_ASSIGN(BuiltCase built, builder.finish(form.error_model));
  built.widen_integers = form.widen_integers;
  if (form.reference.nodes.empty()) return built;
  CaseBuilder parts(name);
  const std::vector<TensorData> operands = add_operands(parts, form);
  for (const Derive& derive : form.reference.constants) parts.constant(derive(operands));
  add_nodes(parts, form.reference.nodes, form.reference.outputs);
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

Elements elements_of(const TensorData& data) {
  Elements out(static_cast<size_t>(data.shape.numel()));
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = load_element(data.shape.dtype, data.bytes.data(), static_cast<int64_t>(i));
  return out;
}

void compute_reference(OpForm& form, const std::vector<Formula>& formulas, bool has_real_codes) {
  FormNodes nodes(form.reference.nodes, form.operands.size() + formulas.size());
  for (size_t i = 0; i < formulas.size(); ++i) {
    Shape shape = form.results[i];
    if (is_floating(shape.dtype) || has_real_codes) shape.dtype = ETB_DTYPE_FLOAT64;
    form.reference.constants.push_back(
        [shape, formula = formulas[i]](const std::vector<TensorData>& operands) {
          const Elements elements = formula(operands);
          return filled(shape, [&](int64_t at) { return elements.at(static_cast<size_t>(at)); });
        });
    nodes.add("aten.clone.default",
              {graph::value_arg(static_cast<uint32_t>(form.operands.size() + i), "self")}, shape);
    form.reference.outputs.push_back(static_cast<uint32_t>(i));
  }
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

size_t wrapped(int64_t dim, size_t rank) {
  return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(rank) : dim);
}

int64_t signed_dim(size_t dim, size_t rank, bool is_negative) {
  return static_cast<int64_t>(dim) - (is_negative ? static_cast<int64_t>(rank) : 0);
}

size_t dim_at(size_t rank, Place place) {
  return place == Place::kFirst ? 0 : place == Place::kLast ? rank - 1 : rank / 2;
}

}  // namespace etb::conformance
