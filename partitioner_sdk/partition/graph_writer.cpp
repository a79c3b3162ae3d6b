// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/partition/graph_writer.hpp"

#include <algorithm>

#include "etb/cpp/graph_view.hpp"

namespace etb::partition {

// ---- ImageTables

// Images have no complex dtypes. A complex tensor is shown as view_as_real returns it; its nodes stay with the host.
uint32_t ImageTables::spec(const ir::TensorSpec& spec) {
  if (ops::is_complex(spec.dtype)) {
    ir::TensorSpec pairs = spec;
    pairs.dtype = ops::real_part(spec.dtype);
    pairs.sizes.emplace_back(2);
    pairs.strides = ir::contiguous_strides(module_.symbols, pairs.sizes);
    return this->spec(pairs);
  }
  graph::SpecDesc desc;
  desc.dtype = static_cast<int32_t>(spec.dtype);
  for (size_t i = 0; i < spec.rank(); ++i) {
    const ir::Dim size = spec.sizes[i];
    if (size.is_static()) {
      desc.sizes.push_back(size.value());
      continue;
    }
    const ir::Range range = module_.symbols.range(size);
    const int64_t max = std::max<int64_t>(range.max, 0);
    desc.sizes.push_back(range.max == ir::kUnbounded ? -1 : max);
    desc.dynamic_dims.push_back(
        {static_cast<uint32_t>(i), std::clamp<int64_t>(range.min, 0, max), expr(size)});
  }
  const auto order = ir::find_dim_order(module_.symbols, spec);
  if (order && !std::is_sorted(order->begin(), order->end())) desc.dim_order = *order;
  return builder_.add_spec(std::move(desc));
}

uint32_t ImageTables::expr(const ir::SymbolTable::Atom& atom) {
  using Kind = ir::SymbolTable::AtomKind;
  if (atom.kind == Kind::kSymbol) {
    auto [place, is_new] = symbols_.emplace(atom.symbol, 0);
    if (is_new) {
      const ir::Symbol& symbol = module_.symbols.symbol(atom.symbol);
      graph::SymbolDesc desc{symbol.name, symbol.min, symbol.max, symbol.hint};
      if (desc.hint && (*desc.hint < symbol.min || *desc.hint > symbol.max)) desc.hint.reset();
      place->second = builder_.add_symbol(std::move(desc));
    }
    return builder_.add_symbol_expr(place->second);
  }
  const uint32_t a = expr(atom.a), b = expr(atom.b);
  const uint32_t kind = atom.kind == Kind::kFloorDiv ? ETB_GRAPH_EXPR_FLOOR_DIV
                        : atom.kind == Kind::kMod    ? ETB_GRAPH_EXPR_MOD
                        : atom.kind == Kind::kMin    ? ETB_GRAPH_EXPR_MINIMUM
                                                     : ETB_GRAPH_EXPR_MAXIMUM;
  return builder_.add_expr(kind, a, b);
}

// Adds a sum of products, the compiler's form of a formula.
uint32_t ImageTables::expr(ir::Dim dim) {
  if (dim.is_static()) return builder_.add_int_expr(dim.value());
  if (const auto found = exprs_.find(dim); found != exprs_.end()) return found->second;
  std::optional<uint32_t> sum;
  for (const ir::SymbolTable::Term& term : std::vector(module_.symbols.terms(dim))) {
    std::optional<uint32_t> product;
    if (term.factor != 1 || term.atoms.empty()) product = builder_.add_int_expr(term.factor);
    for (const uint32_t part : term.atoms) {
      const uint32_t factor = expr(module_.symbols.atom(part));
      product = product ? builder_.add_expr(ETB_GRAPH_EXPR_MUL, *product, factor) : factor;
    }
    sum = sum ? builder_.add_expr(ETB_GRAPH_EXPR_ADD, *sum, *product) : *product;
  }
  exprs_.emplace(dim, *sum);
  return *sum;
}

uint32_t ImageTables::constant_spec(uint32_t index) {
  const ir::Constant& constant = module_.constants[index];
  graph::SpecDesc spec;
  spec.dtype = static_cast<int32_t>(ops::real_part(constant.dtype));
  spec.sizes = constant.sizes;
  if (ops::is_complex(constant.dtype)) spec.sizes.push_back(2);
  return builder_.add_spec(std::move(spec));
}

uint32_t ImageTables::constant(uint32_t index) {
  const KeyedConstant& keyed = keys_.of(module_.constants[index]);
  if (const auto found = constants_.find(keyed.key); found != constants_.end()) return found->second;
  graph::ConstantDesc desc;
  desc.key = keyed.key;
  desc.spec = constant_spec(index);
  desc.digest = keyed.digest;
  const uint32_t number = builder_.add_constant(std::move(desc));
  constants_.emplace(keyed.key, number);
  return number;
}

graph::ValueDesc ImageTables::number(ir::Dim dim, std::string name) {
  graph::ValueDesc desc = graph::sym_int(std::move(name), expr(dim));
  const ir::Range range = module_.symbols.range(dim);
  desc.min = range.min;
  desc.max = range.max;
  return desc;
}

graph::ValueDesc ImageTables::value(const ir::Value& value, std::string name) {
  if (value.kind == ir::ValueKind::kTensor) return graph::tensor(std::move(name), spec(value.spec));
  if (value.kind == ir::ValueKind::kInt) return number(value.dim, std::move(name));
  graph::ValueDesc desc;
  desc.name = std::move(name);
  desc.kind = value.kind == ir::ValueKind::kFloat ? ETB_GRAPH_VALUE_SYM_FLOAT : ETB_GRAPH_VALUE_SYM_BOOL;
  return desc;
}

// ---- GraphWriter

void GraphWriter::define(ir::ValueId id, uint32_t place) {
  places_[id] = place;
  const ir::Value& value = source_.values[id];
  if (value.kind == ir::ValueKind::kInt) numbers_.emplace(value.dim, place);
  if (value.kind != ir::ValueKind::kTensor) return;
  for (size_t i = 0; i < value.spec.rank(); ++i) {
    const auto binding = ir::find_binding(tables_.module().symbols, value.spec.sizes[i]);
    if (!binding) continue;
    const Binder binder{place, static_cast<int64_t>(i), *binding};
    const auto [known, is_new] = binders_.emplace(binding->symbol, binder);
    if (!is_new && binding->is_plain() && !known->second.binding.is_plain()) known->second = binder;
  }
}

void GraphWriter::add_user_input(ir::ValueId id) {
  define(id, out_.add_input(tables_.value(source_.values[id], names_[id])));
}

void GraphWriter::add_method_input(const ir::Input& input) {
  if (input.kind == ir::InputKind::kUser || input.kind == ir::InputKind::kToken)
    return add_user_input(input.value);
  if (input.constant != ir::kNone) return add_constant_input(input.value, input);
  graph::ValueDesc value = tables_.value(source_.values[input.value], names_[input.value]);
  define(input.value, out_.add_input(std::move(value), ETB_GRAPH_INPUT_BUFFER, input.target));
}

void GraphWriter::add_constant_input(ir::ValueId id, const ir::Input& input) {
  const uint32_t kind = input.kind == ir::InputKind::kParameter ? ETB_GRAPH_INPUT_PARAMETER
                        : input.kind == ir::InputKind::kBuffer  ? ETB_GRAPH_INPUT_BUFFER
                                                                : ETB_GRAPH_INPUT_CONSTANT;
  graph::ValueDesc value = graph::tensor(names_[id], tables_.constant_spec(input.constant));
  define(id, out_.add_input(std::move(value), kind, input.target, tables_.constant(input.constant)));
}

uint32_t GraphWriter::add_lifted_constant(uint32_t constant) {
  const uint32_t stored = tables_.constant(constant);
  return out_.add_input(graph::tensor(fresh_name(), tables_.constant_spec(constant)),
                        ETB_GRAPH_INPUT_CONSTANT, {}, stored);
}

void GraphWriter::add_lifted_input(ir::ValueId id, uint32_t constant) {
  if (id != ir::kNoValue) return add_user_input(id);
  out_.add_input(graph::tensor(fresh_name(), tables_.constant_spec(constant)));
}

Status GraphWriter::add_node(const ir::Node& node, const std::vector<uint32_t>& extra) {
  const ir::Module& module = tables_.module();
  const ir::Op& op = module.op(node);
  graph::NodeDesc desc;
  desc.op = op.name;
  desc.debug_handle = node.debug_handle;
  if (node.source != ir::kNone) {
    const ir::Source& at = module.sources[node.source];
    desc.source = graph::SourceDesc{at.file, at.line, at.function, at.module_path};
    if (*desc.source == graph::SourceDesc{}) desc.source.reset();
  }
  for (uint32_t i = 0; i < node.args.size(); ++i) {
    std::optional<ops::Argument> row;
    if (op.schema != nullptr && i < op.schema->argument_count()) row = op.schema->argument(i);
    auto made = argument(node.args[i], row ? &row->type : nullptr, row ? std::string(row->name) : "");
    if (!made) return tl::make_unexpected(with_context(std::move(made).error(), op.name));
    desc.args.push_back(*std::move(made));
  }
  if (!extra.empty()) {
    const auto list = std::find_if(desc.args.rbegin(), desc.args.rend(),
                                   [](const auto& arg) { return arg.kind == ETB_GRAPH_ARGUMENT_VALUES; });
    if (list == desc.args.rend())
      return make_error(Code::NOT_SUPPORTED, op.name + ": expected a list of operands");
    list->values.insert(list->values.end(), extra.begin(), extra.end());
  }
  for (const ir::ValueId id : node.outputs)
    desc.outputs.push_back(tables_.value(source_.values[id], names_[id]));
  if (op.schema != nullptr && op.schema->result_count() == 1 && op.schema->result(0).type.is_list)
    desc.result_lengths = {static_cast<int32_t>(node.outputs.size())};
  uint32_t place = out_.add_node(std::move(desc));
  for (const ir::ValueId id : node.outputs) define(id, place++);
  nodes_.push_back(next_node_++);
  return {};
}

Result<graph::ArgumentDesc> GraphWriter::argument(const ir::Argument& item, const ops::Type* type,
                                                  const std::string& name) {
  using Made = Result<graph::ArgumentDesc>;
  const bool wants_float = type != nullptr && type->base == ops::BaseType::kFloat;
  const auto code = [&](uint32_t kind, auto value) -> Made {
    return graph::code_arg(kind, static_cast<int64_t>(value), name);
  };
  return std::visit(
      graph::Overloaded{
          [&](ir::Nothing) -> Made { return graph::none_arg(name); },
          [&](ir::ValueRef ref) -> Made { return graph::value_arg(place(ref.id), name); },
          [&](const ir::ValueList& list) { return values_argument(list, name); },
          [&](ir::Dim dim) -> Made {
            if (dim.is_static() && wants_float)
              return graph::float_arg(static_cast<double>(dim.value()), name);
            return number_argument(dim, name);
          },
          [&](double value) -> Made { return graph::float_arg(value, name); },
          [&](bool value) -> Made { return graph::bool_arg(value, name); },
          [&](const std::string& value) -> Made { return graph::string_arg(value, name); },
          [&](ir::Dtype dtype) { return code(ETB_GRAPH_ARGUMENT_DTYPE, dtype); },
          [&](ir::Layout layout) { return code(ETB_GRAPH_ARGUMENT_LAYOUT, layout); },
          [&](ir::MemoryFormat format) { return code(ETB_GRAPH_ARGUMENT_MEMORY_FORMAT, format); },
          [&](const ir::Device& device) -> Made { return graph::device_arg(device.name, name); },
          [&](const ir::Dims& dims) -> Made {
            if (!wants_float) return numbers_argument(dims, name);
            std::vector<double> floats;
            for (const ir::Dim dim : dims) floats.push_back(static_cast<double>(dim.value()));
            return graph::floats_arg(std::move(floats), name);
          },
          [&](const ir::FloatList& list) -> Made { return graph::floats_arg(list, name); },
          [&](const ir::BoolList& list) -> Made {
            return graph::bools_arg({list.begin(), list.end()}, name);
          },
          [&](const ir::StringList& list) -> Made { return graph::strings_arg(list.items, name); },
          [&](ir::GraphRef graph) -> Made { return graph::graph_arg(graph.index, name); },
          [&](ir::Complex number) -> Made {
            return graph::complex_arg(number.real, number.imaginary, name);
          }},
      item);
}

Result<graph::ArgumentDesc> GraphWriter::values_argument(const ir::ValueList& list, const std::string& name) {
  std::vector<uint32_t> values;
  for (const ir::ValueId id : list.ids) {
    if (id != ir::kNoValue && source_.values[id].kind != ir::ValueKind::kTensor)
      return make_error(Code::NOT_SUPPORTED,
                        "a list mixes tensors and numbers, which a graph image cannot express");
    values.push_back(id == ir::kNoValue ? ETB_GRAPH_NONE : place(id));
  }
  return graph::values_arg(std::move(values), name);
}

Result<graph::ArgumentDesc> GraphWriter::numbers_argument(const ir::Dims& dims, const std::string& name) {
  std::vector<uint32_t> values;
  std::vector<int64_t> ints;
  for (const ir::Dim dim : dims) {
    values.push_back(ETB_GRAPH_NONE);
    ints.push_back(dim.is_static() ? dim.value() : 0);
    if (!dim.is_static()) {
      ETB_ASSIGN(values.back(), number(dim));
    }
  }
  return graph::sym_ints_arg(std::move(values), std::move(ints), name);
}

Result<graph::ArgumentDesc> GraphWriter::number_argument(ir::Dim dim, std::string name) {
  if (dim.is_static()) return graph::int_arg(dim.value(), std::move(name));
  ETB_ASSIGN(const uint32_t value, number(dim));
  return graph::value_arg(value, std::move(name));
}

Result<graph::ArgumentDesc> GraphWriter::compute(std::string_view op, ir::Dim dim, graph::ArgumentDesc a,
                                                 graph::ArgumentDesc b) {
  a.name = "a";
  b.name = "b";
  graph::NodeDesc node;
  node.op = "executorch_prim." + std::string(op) + ".Scalar";
  node.args = {std::move(a), std::move(b)};
  node.outputs = {tables_.number(dim, fresh_name())};
  nodes_.push_back(ir::kNone);
  return graph::value_arg(out_.add_node(std::move(node)));
}

Result<uint32_t> GraphWriter::number(ir::Dim dim) {
  if (const auto found = numbers_.find(dim); found != numbers_.end()) return found->second;
  ir::SymbolTable& symbols = tables_.module().symbols;
  std::optional<graph::ArgumentDesc> sum;
  ir::Dim sum_so_far;
  for (const ir::SymbolTable::Term& term : std::vector(symbols.terms(dim))) {
    std::optional<graph::ArgumentDesc> product;
    ir::Dim so_far = 1;
    if (term.factor != 1 || term.atoms.empty()) {
      product = graph::int_arg(term.factor);
      so_far = term.factor;
    }
    for (const uint32_t part : term.atoms) {
      const ir::SymbolTable::Atom atom_row = symbols.atom(part);
      ETB_ASSIGN(const uint32_t factor, atom(atom_row));
      // Bounds of intermediate results follow from the formula so far.
      const ir::Dim whole =
          atom_row.kind == ir::SymbolTable::AtomKind::kSymbol     ? symbols.symbol_dim(atom_row.symbol)
          : atom_row.kind == ir::SymbolTable::AtomKind::kFloorDiv ? symbols.floor_div(atom_row.a, atom_row.b)
          : atom_row.kind == ir::SymbolTable::AtomKind::kMod      ? symbols.mod(atom_row.a, atom_row.b)
          : atom_row.kind == ir::SymbolTable::AtomKind::kMin      ? symbols.min(atom_row.a, atom_row.b)
                                                                  : symbols.max(atom_row.a, atom_row.b);
      so_far = symbols.mul(so_far, whole);
      if (!product) {
        product = graph::value_arg(factor);
        continue;
      }
      ETB_ASSIGN(product, compute("mul", so_far, *product, graph::value_arg(factor)));
    }
    if (!sum) {
      sum = product;
      sum_so_far = so_far;
      continue;
    }
    sum_so_far = symbols.add(sum_so_far, so_far);
    ETB_ASSIGN(sum, compute("add", sum_so_far, *sum, *product));
  }
  numbers_.emplace(dim, sum->value);
  return sum->value;
}

Result<uint32_t> GraphWriter::atom(const ir::SymbolTable::Atom& atom) {
  using Kind = ir::SymbolTable::AtomKind;
  ir::SymbolTable& symbols = tables_.module().symbols;
  if (atom.kind != Kind::kSymbol) {
    ETB_ASSIGN(graph::ArgumentDesc a, number_argument(atom.a, ""));
    ETB_ASSIGN(graph::ArgumentDesc b, number_argument(atom.b, ""));
    const ir::Dim whole = atom.kind == Kind::kFloorDiv ? symbols.floor_div(atom.a, atom.b)
                          : atom.kind == Kind::kMod    ? symbols.mod(atom.a, atom.b)
                          : atom.kind == Kind::kMin    ? symbols.min(atom.a, atom.b)
                                                       : symbols.max(atom.a, atom.b);
    if (const auto found = numbers_.find(whole); found != numbers_.end()) return found->second;
    const std::string_view op = atom.kind == Kind::kFloorDiv ? "floordiv"
                                : atom.kind == Kind::kMod    ? "mod"
                                : atom.kind == Kind::kMin    ? "sym_min"
                                                             : "sym_max";
    ETB_ASSIGN(const graph::ArgumentDesc made, compute(op, whole, std::move(a), std::move(b)));
    numbers_.emplace(whole, made.value);
    return made.value;
  }
  return symbol(atom.symbol);
}

Result<uint32_t> GraphWriter::symbol(uint32_t symbol) {
  ir::SymbolTable& symbols = tables_.module().symbols;
  const ir::Dim dim = symbols.symbol_dim(symbol);
  if (const auto found = numbers_.find(dim); found != numbers_.end()) return found->second;
  const auto found = binders_.find(symbol);
  if (found == binders_.end())
    return make_error(Code::NOT_SUPPORTED, "no input determines the value of " + symbols.symbol(symbol).name);
  const Binder binder = found->second;
  const ir::SymbolBinding& binding = binder.binding;
  const ir::Dim size = symbols.add(symbols.mul(dim, binding.factor), binding.offset);
  graph::NodeDesc node;
  node.op = "aten.sym_size.int";
  node.args = {graph::value_arg(binder.tensor, "self"), graph::int_arg(binder.dim, "dim")};
  node.outputs = {tables_.number(size, fresh_name())};
  nodes_.push_back(ir::kNone);
  graph::ArgumentDesc value = graph::value_arg(out_.add_node(std::move(node)));
  if (binding.offset != 0) {
    ETB_ASSIGN(value,
               compute("sub", symbols.mul(dim, binding.factor), value, graph::int_arg(binding.offset)));
  }
  if (binding.factor != 1) {
    ETB_ASSIGN(value, compute("floordiv", dim, value, graph::int_arg(binding.factor)));
  }
  numbers_.emplace(dim, value.value);
  return value.value;
}

}  // namespace etb::partition
