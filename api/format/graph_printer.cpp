// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "api/format/graph_text.hpp"
#include "api/format/graph_text_writer.hpp"
#include "api/format/graph_words.hpp"

namespace etb::graph {
namespace {

class Printer : private TextWriter {
 public:
  Printer(const View& view, const PrintOptions& options)
      : TextWriter(options.max_text_bytes), view_(view), options_(options) {}

  std::string print() {
    print_header();
    for (uint32_t i = 0; i < view_.graph_count() && !is_full(); ++i) {
      graph_.emplace(view_.graph(i));
      print_graph();
    }
    if (is_full()) put("\n# cut: the text has more than {} bytes\n", options_.max_text_bytes);
    return std::move(out_);
  }

 private:
  void print_header();
  void print_constant(uint32_t index);
  void print_graph();
  void print_input(uint32_t index);
  void print_node(const Node& node);
  void print_outputs(const Node& node);
  void print_return();
  void put_value(uint32_t value) { put_name('%', graph_->value(value).name()); }
  void put_definition(uint32_t value);
  void put_spec(const etb_graph_spec& spec);
  void put_expr(uint32_t index, int precedence);
  void put_quant(const etb_graph_quant& quant);
  void put_argument(const Argument& argument);

  const View& view_;
  const PrintOptions& options_;
  std::optional<Graph> graph_;
};

void Printer::print_header() {
  put("etg {}\nname ", ETB_GRAPH_VERSION);
  put_string(view_.name());
  out_ += '\n';
  if (!view_.producer().empty()) {
    out_ += "producer ";
    put_string(view_.producer());
    out_ += '\n';
  }
  for (uint32_t i = 0; i < view_.c().symbols.count; ++i) {
    const etb_graph_symbol symbol = view_.symbol(i);
    put_symbol(symbol.name, symbol.min, symbol.max,
               symbol.has_hint != 0 ? std::optional(symbol.hint) : std::nullopt);
  }
  for (uint32_t i = 0; i < view_.c().constants.count; ++i) print_constant(i);
}

void Printer::print_constant(uint32_t index) {
  const etb_graph_constant constant = view_.constant(index);
  out_ += "constant ";
  put_string(constant.key);
  out_ += ": ";
  put_spec(view_.spec(constant.spec));
  out_ += " sha256 0x";
  put_hex({constant.digest, ETB_GRAPH_DIGEST_NBYTES});
  if (constant.data != nullptr) {
    if (constant.nbytes > options_.max_data_bytes) {
      put("  # {} bytes inside, left out", constant.nbytes);
    } else {
      out_ += " = 0x";
      put_hex({static_cast<const uint8_t*>(constant.data), constant.nbytes});
    }
  }
  out_ += '\n';
}

void Printer::print_graph() {
  out_ += "\ngraph ";
  put_name('@', graph_->name());
  out_ += " {\n";
  for (uint32_t i = 0; i < graph_->c().inputs.count; ++i) print_input(i);
  for (const Node node : graph_->nodes()) {
    if (is_full()) return;
    print_node(node);
  }
  print_return();
  out_ += "}\n";
}

void Printer::print_input(uint32_t index) {
  const etb_graph_input input = graph_->input(index);
  put("  {} ", text_of(kInputKindWords, input.kind));
  put_definition(index);
  if (input.constant != kNone) {
    out_ += " = ";
    put_string(view_.constant(input.constant).key);
  }
  if (input.target[0] != '\0') {
    out_ += " as ";
    put_string(input.target);
  }
  out_ += '\n';
}

void Printer::print_node(const Node& node) {
  out_ += "  ";
  print_outputs(node);
  put("{}(", node.op_name());
  put_list(node.args(), [this](const Argument& arg) {
    if (!arg.name().empty()) {
      put_name('\0', arg.name());
      out_ += '=';
    }
    put_argument(arg);
  });
  out_ += ')';
  put_handle(node.debug_handle());
  if (const auto source = node.source())
    put_source(source->file, source->line, source->function, source->module);
  out_ += '\n';
}

void Printer::print_outputs(const Node& node) {
  uint32_t value = node.first_output();
  const auto put_some = [&](uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      if (i != 0) out_ += ", ";
      put_definition(value++);
    }
  };
  if (node.result_lengths().empty()) {
    put_some(node.output_count());
    if (node.output_count() != 0) out_ += " = ";
    return;
  }
  put_list(node.result_lengths(), [&](int32_t length) {
    if (length == -1) return put_some(1);
    out_ += '[';
    put_some(static_cast<uint32_t>(length));
    out_ += ']';
  });
  out_ += " = ";
}

void Printer::print_return() {
  out_ += graph_->outputs().empty() ? "  return" : "  return ";
  put_list(graph_->outputs(), [this](const etb_graph_output& output) {
    put_value(output.value);
    if (output.updates == kNone) return;
    out_ += " updates ";
    put_value(output.updates);
  });
  out_ += '\n';
}

void Printer::put_definition(uint32_t index) {
  const etb_graph_value value = graph_->value(index).c();
  put_name('%', value.name);
  out_ += ": ";
  switch (value.kind) {
    case ETB_GRAPH_VALUE_TENSOR:
      put_spec(view_.spec(value.spec));
      if (value.quant != kNone) put_quant(view_.quant(value.quant));
      break;
    case ETB_GRAPH_VALUE_SYM_INT:
      out_ += text_of(kValueKindWords, value.kind);
      if (value.expr != kNone) {
        out_ += '(';
        put_expr(value.expr, 0);
        out_ += ')';
      }
      if (value.min != INT64_MIN || value.max != ETB_GRAPH_UNBOUNDED) put_range(value.min, value.max);
      break;
    default:
      out_ += text_of(kValueKindWords, value.kind);
      break;
  }
  if (value.alias == ETB_GRAPH_ALIAS_NONE) return;
  out_ += value.alias == ETB_GRAPH_ALIAS_VIEW ? " view_of " : " update_of ";
  put_value(value.alias_of);
}

void Printer::put_spec(const etb_graph_spec& spec) {
  put("{}[", text_of(kDtypeWords, spec.dtype));
  bool is_identity = true;
  for (uint32_t dim = 0; dim < spec.rank; ++dim) {
    is_identity = is_identity && spec.dim_order[dim] == dim;
    if (dim != 0) out_ += ", ";
    if ((spec.dynamic_dims >> dim & 1u) == 0) {
      put("{}", spec.sizes[dim]);
      continue;
    }
    if (spec.exprs[dim] == kNone) {
      out_ += '?';
    } else {
      put_expr(spec.exprs[dim], 0);
    }
    put_range(spec.min_sizes[dim], spec.sizes[dim] < 0 ? ETB_GRAPH_UNBOUNDED : spec.sizes[dim]);
  }
  out_ += ']';
  if (!is_identity) put_order({spec.dim_order, spec.rank});
}

// Precedence: 0 anything, 1 right operand of + or operand of *, 2 right operand of * and //.
// Operators associate to the left.
void Printer::put_expr(uint32_t index, int precedence) {
  if (is_full()) return;
  const etb_graph_expr expr = view_.expr(index);
  const auto put_infix = [&](const char* op, int own) {
    if (own < precedence) out_ += '(';
    put_expr(expr.left, own);
    out_ += op;
    put_expr(expr.right, own + 1);
    if (own < precedence) out_ += ')';
  };
  const auto put_call = [&](const char* name) {
    out_ += name;
    out_ += '(';
    put_expr(expr.left, 0);
    out_ += ", ";
    put_expr(expr.right, 0);
    out_ += ')';
  };
  switch (expr.kind) {
    case ETB_GRAPH_EXPR_INT:
      return put("{}", expr.value);
    case ETB_GRAPH_EXPR_SYMBOL:
      out_ += view_.symbol(static_cast<uint32_t>(expr.value)).name;
      return;
    case ETB_GRAPH_EXPR_ADD:
      return put_infix("+", 0);
    case ETB_GRAPH_EXPR_MUL:
      return put_infix("*", 1);
    case ETB_GRAPH_EXPR_FLOOR_DIV:
      return put_infix("//", 1);
    case ETB_GRAPH_EXPR_MOD:
      return put_call("mod");
    case ETB_GRAPH_EXPR_MINIMUM:
      return put_call("min");
    default:
      return put_call("max");
  }
}

void Printer::put_quant(const etb_graph_quant& quant) {
  put(" {}(", text_of(kQuantSchemeWords, quant.scheme));
  const auto put_constants = [&] {
    out_ += "scales=";
    put_string(view_.constant(quant.scales).key);
    out_ += ", ";
    if (quant.zero_points == kNone) return;
    out_ += "zero_points=";
    put_string(view_.constant(quant.zero_points).key);
    out_ += ", ";
  };
  switch (quant.scheme) {
    case ETB_GRAPH_QUANT_PER_TENSOR:
      out_ += "scale=";
      put_float(quant.scale);
      put(", zero_point={}, ", quant.zero_point);
      break;
    case ETB_GRAPH_QUANT_PER_CHANNEL:
      put("axis={}, ", quant.axis);
      put_constants();
      break;
    case ETB_GRAPH_QUANT_PER_GROUP:
      out_ += "blocks=[";
      put_list(to_i64s(quant.block_sizes), [this](int64_t size) { put("{}", size); });
      out_ += "], ";
      put_constants();
      break;
    case ETB_GRAPH_QUANT_OPAQUE:
      out_ += "codec=";
      put_string(quant.codec);
      out_ += ", data=0x";
      put_hex(to_bytes(quant.codec_data));
      out_ += ", ";
      break;
    default:
      break;
  }
  if (quant.scheme != ETB_GRAPH_QUANT_OPAQUE) put("min={}, max={}, ", quant.quant_min, quant.quant_max);
  put("real={})", text_of(kDtypeWords, quant.expressed_dtype));
}

void Printer::put_argument(const Argument& argument) {
  argument.visit(Overloaded{
      [&](arg::None) { put_none(); }, [&](arg::Value value) { put_value(value.index); },
      [&](const arg::Values& values) {
        put_brackets("values", values, [this](uint32_t value) {
          if (value == kNone) {
            put_none();
          } else {
            put_value(value);
          }
        });
      },
      [&](int64_t value) { put_int(value); }, [&](double value) { put_float(value); },
      [&](bool value) { put_bool(value); }, [&](std::string_view text) { put_string(text); },
      [&](arg::Dtype dtype) { put_dtype(dtype.code); }, [&](arg::Layout layout) { put_layout(layout.code); },
      [&](arg::MemoryFormat format) { put_memory_format(format.code); },
      [&](arg::Device device) { put_device(device.name); },
      [&](const arg::Ints& ints) { put_brackets("ints", ints, [this](int64_t value) { put_int(value); }); },
      [&](const arg::Floats& floats) {
        put_brackets("floats", floats, [this](double value) { put_float(value); });
      },
      [&](const arg::Bools& bools) { put_brackets("bools", bools, [this](bool value) { put_bool(value); }); },
      [&](const arg::Strings& texts) {
        put_brackets("strings", texts, [this](std::string_view text) { put_string(text); });
      },
      [&](const arg::SymInts& items) {
        uint32_t i = 0;
        put_brackets("", items.values, [&](uint32_t value) {
          const uint32_t index = i++;
          if (value == kNone) {
            put("{}", items.ints[index]);
          } else {
            put_value(value);
          }
        });
      },
      [&](arg::Complex number) {
        put_complex(number.real, number.imaginary);
      },
      [&](arg::Graph graph) { put_name('@', view_.graph(graph.index).name()); }});
}

}  // namespace

std::string print_graph_image(const View& view, const PrintOptions& options) {
  return Printer(view, options).print();
}

}  // namespace etb::graph
