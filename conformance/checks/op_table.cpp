// SPDX-License-Identifier: Apache-2.0
// aot: what rows of the op table say, beside claims.
#include "conformance/checks/op_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/ops/schema.hpp"
#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/mutable_graph.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/subject/node_rows.hpp"
#include "etb/cpp/graph_view.hpp"
#include "etb/cpp/tensor.hpp"
#include "host/layers/validate/call.hpp"

namespace etb::conformance {
namespace {

std::string defect_of(const etb_op_capability& op) {
  if (op.op == nullptr || *op.op == '\0') return "an op without a name";
  const std::string name = op.op;
  // Vendors may list ops of their own namespaces.
  if (name.rfind("aten.", 0) == 0 && ops::find_schema(name) == nullptr)
    return "no op of ATen has this name and overload";
  if (op.dtype_count == 0 || op.dtypes == nullptr) return "no dtype";
  for (uint32_t i = 0; i < op.dtype_count; ++i)
    if (dtype_bits(op.dtypes[i]) == 0) return fmt::format("the unknown dtype {}", op.dtypes[i]);
  if (op.min_rank > op.max_rank || op.max_rank > ETB_MAX_RANK)
    return fmt::format("ranks {} to {}", op.min_rank, op.max_rank);
  constexpr uint32_t kLayouts = ETB_LAYOUT_CONTIGUOUS | ETB_LAYOUT_CHANNELS_LAST | ETB_LAYOUT_ANY;
  if (op.layouts == 0 || (op.layouts & ~kLayouts) != 0) return fmt::format("layouts {:#x}", op.layouts);
  if ((op.flags & ~ETB_OP_DYNAMIC_SIZES) != 0) return fmt::format("flags {:#x}", op.flags);
  if (op.constraint == nullptr || !host::validate::is_utf8(op.constraint))
    return "a constraint that is no text";
  for (uint32_t i = 0; i < op.quant_scheme_count; ++i)
    if (op.quant_schemes == nullptr || op.quant_schemes[i] == nullptr || *op.quant_schemes[i] == '\0')
      return "a quantisation scheme without a name";
  return "";
}

bool covers(const OpFacts& row, const etb_graph_spec& spec) {
  return row.dtypes.contains(static_cast<etb_dtype>(spec.dtype)) && spec.rank >= row.min_rank &&
         spec.rank <= row.max_rank && (row.layouts & layouts_of(spec)) != 0 &&
         (spec.dynamic_dims == 0 || (row.flags & ETB_OP_DYNAMIC_SIZES) != 0);
}

}  // namespace

bool has_own_rows(const SubjectSpec& spec) {
  const auto& manifest = spec.entry.manifest;
  return !manifest || manifest->provides.empty() || manifest->provides.front().id == spec.backend_id;
}

bool covers_all(const OpFacts& row, const graph::Node& node) {
  const std::vector<graph::Value> operands = node.operands();
  return std::all_of(operands.begin(), operands.end(), [&](const graph::Value& operand) {
    return operand.is_tensor() && !operand.is_quantized() && covers(row, operand.spec());
  });
}

const OpFacts* find_row(const std::vector<OpFacts>& rows, const BuiltCase& built, bool& out_is_asked) {
  const auto view = graph::View::open(built.image.span());
  out_is_asked = false;
  if (!view || view->graph_count() != 1 || view->method().nodes().size() != 1) return nullptr;
  const graph::Node node = view->method().node(0);
  const auto operands = node.operands();
  if (operands.empty() || !operands[0].is_tensor()) return nullptr;
  out_is_asked = true;
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const OpFacts& row) {
    return row.op == node.op_name() && covers(row, operands[0].spec());
  });
  return found != rows.end() ? &*found : nullptr;
}

std::vector<OpFacts> op_rows_of(CheckContext& context, Subject& subject) {
  std::vector<OpFacts> out;
  const etb_op_sink sink = {ETB_INIT_SIZE(etb_op_sink), 0, &out, [](void* ctx, const etb_op_capability* op) {
                              OpFacts& facts = static_cast<std::vector<OpFacts>*>(ctx)->emplace_back();
                              facts.defect = defect_of(*op);
                              facts.op = op->op != nullptr ? op->op : "";
                              facts.min_rank = op->min_rank;
                              facts.max_rank = op->max_rank;
                              facts.layouts = op->layouts;
                              facts.flags = op->flags;
                              if (!facts.defect.empty()) return etb_status{ETB_OK};
                              facts.constraint = op->constraint;
                              facts.dtypes.insert(op->dtypes, op->dtypes + op->dtype_count);
                              for (uint32_t i = 0; i < op->quant_scheme_count; ++i)
                                facts.quant_schemes.insert(op->quant_schemes[i]);
                              return etb_status{ETB_OK};
                            }};
  etb_error error = ETB_ERROR_INIT;
  context.progress().at("op_table");
  if (const etb_status status = subject.table().aot->op_table(subject.handle(), &sink, &error);
      status != ETB_OK)
    context.fail(fmt::format("op_table returns {}: {}", status, error.text));
  return out;
}

std::unique_ptr<Subject> open_aot(CheckContext& context, const SubjectOptions& options) {
  std::unique_ptr<Subject> subject = context.open(options);
  if (subject && subject->table().aot == nullptr) {
    context.skip("the plugin has no ahead-of-time functions");
    subject.reset();
  }
  return subject;
}

namespace {

template <class T>
bool have_common(const std::set<T>& a, const std::set<T>& b) {
  return std::any_of(a.begin(), a.end(), [&](const T& item) { return b.contains(item); });
}

// True if a tensor could be accepted by both rows.
bool overlap(const OpFacts& a, const OpFacts& b) {
  const bool are_float = a.quant_schemes.empty() && b.quant_schemes.empty();
  return a.op == b.op && have_common(a.dtypes, b.dtypes) && a.min_rank <= b.max_rank &&
         b.min_rank <= a.max_rank && (a.layouts & b.layouts) != 0 && a.flags == b.flags &&
         (are_float || have_common(a.quant_schemes, b.quant_schemes));
}

void op_rows_are_sound(CheckContext& context) {
  const auto subject = open_aot(context, bare());
  if (!subject) return;
  const std::vector<OpFacts> rows = op_rows_of(context, *subject);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].defect.empty())
      context.fail(fmt::format("row {} of the op table, '{}': {}", i, rows[i].op, rows[i].defect));
    for (size_t k = 0; k < i; ++k)
      if (rows[i].defect.empty() && overlap(rows[i], rows[k]))
        context.fail(fmt::format("rows {} and {} of the op table describe the same tensors for '{}'", k, i,
                                 rows[i].op));
    if (context.outcome().findings.size() > 3) return;
  }
}

// Compares claims of single nodes with the rows: dtype, rank, layout and dynamic sizes.
void claims_are_listed(CheckContext& context) {
  constexpr size_t kStep = 11;
  const auto subject = open_aot(context, bare());
  if (!subject) return;
  const std::vector<OpFacts> rows = op_rows_of(context, *subject);
  const auto& cases = all_cases();
  for (size_t i = 0; i < cases.size(); i += kStep) {
    const Result<BuiltCase> built = cases[i].build(cases[i].name);
    if (!built) continue;
    bool is_asked = false;
    const OpFacts* const row = find_row(rows, *built, is_asked);
    if (is_asked && row == nullptr && partition(*subject, built->image).is_whole_claim())
      return context.fail(
          fmt::format("{} is claimed, but no row of the op table has this op with the dtype, rank, layout "
                      "and dynamic sizes of "
                      "its first operand",
                      cases[i].name));
  }
}

// Cases of one node whose first operand some row lists, by op and dtype.
struct CoveredCases {
  bool is_restricted = false;  // by the constraint of a row
  std::set<etb_dtype> dtypes;  // those that the rows list
  std::vector<const Case*> rejected;
  std::string example;  // the first rejected case, and the reason
  bool is_plain_claimed = false, is_claimed = false;
};

// Asks for a case if it is covered and if its answer still matters.
void ask(Subject& subject, const std::vector<OpFacts>& rows, const Case& item, bool is_plain,
         std::map<std::string, CoveredCases>& out) {
  const auto known = out.find(item.op + " " + short_name(item.dtype));
  if (!is_plain && (known == out.end() || known->second.is_claimed)) return;
  const Result<BuiltCase> built = item.build(item.name);
  if (!built) return;
  bool is_asked = false;
  const OpFacts* const row = find_row(rows, *built, is_asked);
  if (row == nullptr || !row->dtypes.contains(item.dtype)) return;
  CoveredCases& found = out[item.op + " " + short_name(item.dtype)];
  found.is_restricted = found.is_restricted || !row->constraint.empty();
  found.dtypes.insert(row->dtypes.begin(), row->dtypes.end());
  const Answers answers = partition(subject, built->image);
  if (answers.is_whole_claim()) {
    found.is_claimed = true;
    found.is_plain_claimed = found.is_plain_claimed || is_plain;
    return;
  }
  found.rejected.push_back(&item);
  if (found.example.empty())
    found.example =
        item.name + ": " + (answers.reasons.empty() ? answers.error : answers.reasons.begin()->second);
}

// Returns the graph of a case with constants in the place of its inputs, which a constraint may ask for.
Result<graph::ImageBytes> with_constants(const BuiltCase& built) {
  ETB_ASSIGN(MutableGraph graph, read_mutable_graph(built.image));
  size_t next = 0;
  for (MutableGraph::Input& input : graph.inputs) {
    if (input.constant || next >= built.runs[0].size()) continue;
    const auto& bytes = built.runs[0][next++].bytes;
    const auto* const begin = reinterpret_cast<const uint8_t*>(bytes.data());
    input.constant.emplace(begin, begin + bytes.size());
  }
  return write_image(graph);
}

// True if the plugin claims this case with another dtype of its row.
bool is_claimed_with_another(Subject& subject, const std::set<etb_dtype>& dtypes, const Case& item) {
  const std::string own = fmt::format(".{}.", short_name(item.dtype));
  const size_t at = item.name.find(own);
  if (at == std::string::npos) return false;
  return std::any_of(dtypes.begin(), dtypes.end(), [&](etb_dtype dtype) {
    std::string name = item.name;
    name.replace(at, own.size(), fmt::format(".{}.", short_name(dtype)));
    const Case* const other = find_case(name);
    if (other == nullptr || dtype == item.dtype) return false;
    const Result<BuiltCase> built = other->build(other->name);
    return built && partition(subject, built->image).is_whole_claim();
  });
}

bool is_claimed_of_constants(Subject& subject, const Case& item) {
  const Result<BuiltCase> built = item.build(item.name);
  if (!built || built->runs.empty()) return false;
  const Result<graph::ImageBytes> image = with_constants(*built);
  return image && partition(subject, *image).is_whole_claim();
}

// The constraint of a row may restrict each of its dtypes. It cannot explain that of so many cases each is accepted with one
// dtype, and rejected with another one, also for constants.
bool lists_an_absent_dtype(Subject& subject, const CoveredCases& found) {
  constexpr size_t kEnough = 8;
  size_t count = 0;
  for (auto item = found.rejected.begin(); item != found.rejected.end() && count < kEnough; ++item) {
    if (is_claimed_of_constants(subject, **item)) return false;
    if (is_claimed_with_another(subject, found.dtypes, **item)) ++count;
  }
  return count == kEnough;
}

// A plugin that lists an op and rejects its plain cases looks complete and runs nothing. A row without a constraint
// accepts all tensors that it describes.
void listed_ops_are_claimed(CheckContext& context) {
  if (!has_own_rows(context.spec()))
    return context.skip("'" + context.spec().backend_id + "' is not the plugin's first delegate id");
  const auto subject = open_aot(context, bare());
  if (!subject) return;
  const std::vector<OpFacts> rows = op_rows_of(context, *subject);
  std::map<std::string, CoveredCases> cases;
  for (const Case* item : plain_cases()) ask(*subject, rows, *item, true, cases);
  for (auto at = cases.begin(); at != cases.end();)
    at = at->second.is_plain_claimed ? cases.erase(at) : std::next(at);
  if (!cases.empty())
    for (const Case& item : all_cases()) ask(*subject, rows, item, false, cases);
  std::string warned;
  for (const auto& [name, found] : cases) {
    if (found.is_restricted && found.is_claimed) continue;
    const std::string text = fmt::format(
        "{} is listed, and {} are rejected ({})", name,
        found.is_claimed ? "its plain cases" : fmt::format("all {} cases of it", found.rejected.size()),
        found.example);
    if (!found.is_claimed && (!found.is_restricted || lists_an_absent_dtype(*subject, found)))
      context.fail(text);
    else
      warned += (warned.empty() ? "" : "; ") + text;
    if (context.outcome().findings.size() > 3) return;
  }
  if (!warned.empty() && context.outcome().findings.empty()) context.warn(warned);
}

// ---- ranks, layouts and dynamic sizes of rows

constexpr const char* kOneOperand[] = {"aten.relu.default", "aten.neg.default",     "aten.abs.default",
                                       "aten.exp.default",  "aten.sigmoid.default", "aten.tanh.default"};
constexpr const char* kTwoOperands[] = {"aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor",
                                        "aten.maximum.default", "aten.minimum.default"};

// A graph of one node. Its tensors have one description.
Result<graph::ImageBytes> with_one_node(const char* op, bool has_two_operands, const graph::SpecDesc& desc) {
  graph::Builder builder("forward");
  const uint32_t spec = builder.add_spec(desc);
  graph::GraphBuilder& method = builder.add_graph("forward");
  std::vector<graph::ArgumentDesc> args = {
      graph::value_arg(method.add_input(graph::tensor("x", spec)), "self")};
  if (has_two_operands) args.push_back(graph::value_arg(method.add_input(graph::tensor("y", spec)), "other"));
  method.add_output(
      method.add_node({.op = op, .args = std::move(args), .outputs = {graph::tensor("out", spec)}}));
  return builder.finish();
}

// Tensors at the ends of what a row describes, and their names in messages.
std::vector<std::pair<std::string, graph::SpecDesc>> ends_of(const OpFacts& row, etb_dtype dtype) {
  std::vector<std::pair<std::string, graph::SpecDesc>> out;
  for (uint32_t rank = row.min_rank; rank <= row.max_rank; ++rank) {
    graph::SpecDesc desc{.dtype = dtype, .sizes = std::vector<int64_t>(rank, 2)};
    if ((row.layouts & (ETB_LAYOUT_CONTIGUOUS | ETB_LAYOUT_ANY)) != 0) {
      out.emplace_back(fmt::format("rank {}", rank), desc);
      if (rank != 0 && (row.flags & ETB_OP_DYNAMIC_SIZES) != 0) {
        graph::SpecDesc dynamic = desc;
        dynamic.dynamic_dims = {{.dim = 0, .min = 1}};
        out.emplace_back(fmt::format("rank {} and a dynamic dimension", rank), std::move(dynamic));
      }
    }
    if (rank == 4 && (row.layouts & (ETB_LAYOUT_CHANNELS_LAST | ETB_LAYOUT_ANY)) != 0) {
      desc.dim_order = {0, 2, 3, 1};
      out.emplace_back("channels last", std::move(desc));
    }
  }
  return out;
}

// A row without a constraint accepts each rank, layout and dtype that it describes, dynamic sizes included.
void unrestricted_rows_hold(CheckContext& context) {
  if (!has_own_rows(context.spec()))
    return context.skip("'" + context.spec().backend_id + "' is not the plugin's first delegate id");
  const auto subject = open_aot(context, bare());
  if (!subject) return;
  size_t count = 0;
  for (const OpFacts& row : op_rows_of(context, *subject)) {
    const auto is_op = [&](const char* op) { return row.op == op; };
    const bool is_one = std::any_of(std::begin(kOneOperand), std::end(kOneOperand), is_op);
    const bool is_two = std::any_of(std::begin(kTwoOperands), std::end(kTwoOperands), is_op);
    if ((!is_one && !is_two) || !row.constraint.empty() || !row.defect.empty() || !row.quant_schemes.empty())
      continue;
    for (const etb_dtype dtype : row.dtypes)
      for (const auto& [what, desc] : ends_of(row, dtype)) {
        const Result<graph::ImageBytes> image = with_one_node(row.op.c_str(), is_two, desc);
        if (!image) continue;
        ++count;
        context.progress().at("partition of a node that a row lists");
        if (const Answers answers = partition(*subject, *image); !answers.is_whole_claim())
          return context.fail(fmt::format(
              "{} of {} with {} is in a row of the op table without a constraint, and is rejected ({})",
              row.op, short_name(dtype), what,
              answers.reasons.empty() ? answers.error : answers.reasons.begin()->second));
      }
  }
  if (count == 0) context.skip("no row without a constraint lists one of the ops of this check");
}

constexpr Check kChecks[] = {
    {"aot.op-rows-are-sound", "Rows of the op table name known ops, dtypes and layouts, and none twice.",
     "ABI-TYPE-03", op_rows_are_sound},
    {"aot.claims-are-listed", "A claimed node has a row with its op, dtype, rank, layout and dynamic sizes.",
     "", claims_are_listed},
    {"aot.listed-ops-are-claimed",
     "Of each op and dtype that a row lists without a constraint, some case is claimed; with one, too, if "
     "eight cases are claimed with another dtype of the row. Otherwise a warning.",
     "", listed_ops_are_claimed},
    {"aot.unrestricted-rows-hold",
     "A row without a constraint accepts each rank, layout, dtype and dynamic size that it describes.", "",
     unrestricted_rows_hold},
};

}  // namespace

std::span<const Check> op_table_checks() { return kChecks; }

}  // namespace etb::conformance
