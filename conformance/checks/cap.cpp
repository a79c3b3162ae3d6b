// SPDX-License-Identifier: Apache-2.0
// cap: capabilities that the plugin declares. Most of these checks run on every case (case_flow.cpp).
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/mutable_graph.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/subject/node_rows.hpp"

namespace etb::conformance {
namespace {

void op_table_is_stable(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  if (subject->table().aot == nullptr) return context.skip("the plugin has no ahead-of-time functions");
  const auto collect = [&] {
    std::vector<std::string> rows;
    const etb_op_sink sink = {
        ETB_INIT_SIZE(etb_op_sink), 0, &rows, [](void* ctx, const etb_op_capability* op) {
          static_cast<std::vector<std::string>*>(ctx)->push_back(std::string(op->op) + " " +
                                                                 std::to_string(op->dtype_count));
          return etb_status{ETB_OK};
        }};
    etb_error error = ETB_ERROR_INIT;
    if (subject->table().aot->op_table(subject->handle(), &sink, &error) != ETB_OK)
      context.fail(std::string("op_table: ") + error.text);
    return rows;
  };
  if (collect() != collect()) context.fail("the second call of op_table returns other rows than the first");
  if (collect().empty()) context.fail("the op table is empty, so the plugin can run nothing");
  context.take_violations(*subject);
}

void claims_something(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  if (subject->table().aot == nullptr) return context.skip("the plugin has no ahead-of-time functions");
  if (context.find_claimed(*subject).empty())
    context.fail("the plugin claims none of the sample cases, so nothing of it would be tested");
}

std::vector<Answers> answers_of_samples(Subject& subject, size_t step) {
  std::vector<Answers> out;
  const auto& cases = all_cases();
  for (size_t i = 0; i < cases.size(); i += step)
    if (const Result<BuiltCase> built = cases[i].build(cases[i].name))
      out.push_back(partition(subject, built->image));
  return out;
}

void same_answer_in_any_order(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  if (subject->table().aot == nullptr) return context.skip("the plugin has no ahead-of-time functions");
  const std::vector<Answers> first = answers_of_samples(*subject, 101);
  std::vector<Answers> other;
  std::thread([&] { other = answers_of_samples(*subject, 101); }).join();
  if (!(first == other)) context.fail("the claims on another thread differ");
  const auto fresh = context.open(bare());
  if (fresh && !(answers_of_samples(*fresh, 101) == first))
    context.fail("the claims of a second instance differ");
}

// Hides the signs of a test run: the names of the program and its parent, and the environment. They become
// those of an application.
void disguise() {
  ::prctl(PR_SET_NAME, "camera-app");
  std::ifstream stat("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(stat)), std::istreambuf_iterator<char>());
  // Fields 48 and 49 are the bounds of the argument strings, which /proc/self/cmdline shows unchanged.
  const size_t start = text.rfind(')');
  if (start == std::string::npos) return;
  std::vector<std::string> fields;
  for (size_t at = start + 2; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    fields.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  if (fields.size() < 47) return;
  auto* const begin = reinterpret_cast<char*>(std::strtoull(fields[45].c_str(), nullptr, 10));
  auto* const end = reinterpret_cast<char*>(std::strtoull(fields[46].c_str(), nullptr, 10));
  if (begin == nullptr || end <= begin) return;
  std::memset(begin, 0, static_cast<size_t>(end - begin));
  std::strncpy(begin, "camera-app", static_cast<size_t>(end - begin) - 1);
  ::clearenv();
}

uint64_t hash_of_runs(CheckContext& context, bool is_watched) {
  uint64_t hash = 1;
  context.each_session({.is_validated = is_watched}, 24, [&](ReadyCase& ready) {
    for (const TensorData& output : ready.run().outputs)
      hash = hash * 31 + hash_text({reinterpret_cast<const char*>(output.bytes.data()), output.bytes.size()});
  });
  return hash;
}

void same_outside_of_tests(CheckContext& context) {
  // An orphan in disguise, without layers: it has no trace of a test.
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return context.fail("the suite cannot create a pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    if (::fork() == 0) {
      disguise();
      const uint64_t hash = hash_of_runs(context, false);
      (void)!::write(ends[1], &hash, sizeof(hash));
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  ::waitpid(child, nullptr, 0);
  uint64_t unwatched = 0;
  const bool has_answer = ::read(ends[0], &unwatched, sizeof(unwatched)) == sizeof(unwatched);
  ::close(ends[0]);
  if (!has_answer) return context.fail("the process that does not look like a test returned no result");
  const uint64_t watched = hash_of_runs(context, true);
  if (context.outcome().state == State::kUnsupported) return;
  if (watched != unwatched) context.fail("the results differ in a process that does not look like a test");
}

// Graphs with unknown contents: invented ops, other namespaces, unknown arguments.
std::vector<graph::ImageBytes> foreign_graphs() {
  std::vector<graph::ImageBytes> out;
  const auto add = [&](const char* op, etb_dtype dtype, std::vector<int64_t> sizes,
                       std::vector<graph::ArgumentDesc> more) {
    CaseBuilder builder(op);
    const Shape shape{dtype, std::move(sizes), {}};
    const uint32_t x = builder.input(shape, Values::kStatistical);
    more.insert(more.begin(), graph::value_arg(x, "self"));
    builder.output(builder.node(op, std::move(more), shape));
    if (Result<BuiltCase> built = builder.finish({})) out.push_back(std::move(built->image));
  };
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_INT8, ETB_DTYPE_INT64})
    for (const char* op : {"aten.nobody_has_this.default", "aten.add.nobody", "vendor.add.Tensor",
                           "aten.relu.nobody", "aten.mm.nobody", "quantized_decomposed.nobody.default"})
      for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{}, {3}, {2, 3, 4}})
        add(op, dtype, sizes, {});
  return out;
}

void foreign_nodes_are_rejected(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  if (subject->table().aot == nullptr) return context.skip("the plugin has no ahead-of-time functions");
  for (const graph::ImageBytes& image : foreign_graphs()) {
    const Answers answers = partition(*subject, image);
    if (answers.status != ETB_OK) return context.fail("partition fails: " + answers.error);
    if (!answers.claims.empty()) return context.fail("claims a node with an unknown op");
    if (compile(*subject, image).status == ETB_OK) return context.fail("compiles a node with an unknown op");
  }
  context.take_violations(*subject);
}

// A choice between two graphs, each with a few common nodes.
Result<graph::ImageBytes> graph_with_branches() {
  graph::Builder builder("forward");
  const uint32_t flag = builder.add_spec({ETB_DTYPE_BOOL, {}}),
                 spec = builder.add_spec({ETB_DTYPE_FLOAT32, {2, 3}});
  graph::GraphBuilder& method = builder.add_graph("forward");
  const uint32_t condition = method.add_input(graph::tensor("condition", flag));
  const uint32_t x = method.add_input(graph::tensor("x", spec));
  std::vector<graph::ArgumentDesc> branches = {graph::value_arg(condition, "pred")};
  for (const char* name : {"yes", "no"}) {
    graph::GraphBuilder& branch = builder.add_graph(name);
    branches.push_back(graph::graph_arg(branch.index()));
    const uint32_t input = branch.add_input(graph::tensor("input", spec));
    uint32_t last = branch.add_node({.op = "aten.relu.default",
                                     .args = {graph::value_arg(input, "self")},
                                     .outputs = {graph::tensor("positive", spec)}});
    for (const char* op : {"aten.add.Tensor", "aten.mul.Tensor"})
      last = branch.add_node({.op = op,
                              .args = {graph::value_arg(last, "self"), graph::value_arg(input, "other")},
                              .outputs = {graph::tensor(op, spec)}});
    branch.add_output(last);
  }
  branches.push_back(graph::values_arg({x}, "operands"));
  method.add_output(method.add_node({.op = "higher_order.cond.default",
                                     .args = std::move(branches),
                                     .outputs = {graph::tensor("chosen", spec)}}));
  return builder.finish();
}

void nodes_of_branches_are_answered(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  if (subject->table().aot == nullptr) return context.skip("the plugin has no ahead-of-time functions");
  const Result<graph::ImageBytes> image = graph_with_branches();
  if (!image) return context.fail("the suite cannot write the graph: " + image.error().message);
  const Answers answers = partition(*subject, *image);
  if (answers.status != ETB_OK) context.fail("partition fails: " + answers.error);
  for (uint32_t id = 0; answers.status == ETB_OK && id < answers.node_count; ++id)
    if (answers.claims.contains(id) == answers.reasons.contains(id))
      context.fail("node " + std::to_string(id) + " of a graph with branches is " +
                   (answers.claims.contains(id) ? "claimed and rejected" : "neither claimed nor rejected"));
  context.take_violations(*subject);
}

// Returns what is wrong with the answers about a graph that has a quantised value. Such a value represents other numbers than
// its elements, so a payload equal to that of a plain value shows that the plugin did not look at it.
std::string check_quantised_value(Subject& subject, const MutableGraph& graph, const Payload& plain) {
  const Result<graph::ImageBytes> image = write_image(graph);
  if (!image) return "the suite cannot write the graph: " + image.error().message;
  const Answers answers = partition(subject, *image);
  if (answers.status != ETB_OK) return "partition fails: " + answers.error;
  if (!answers.is_whole_claim()) return "";
  const Compiled compiled = compile(subject, *image);
  if (compiled.status != ETB_OK) return "claimed, but compile fails: " + compiled.error;
  return compiled.payload == plain ? "claimed, and compiled as if it had none" : "";
}

void quantised_values_are_looked_at(CheckContext& context) {
  constexpr size_t kCases = 40;
  const auto subject = context.open();
  if (!subject) return;
  if (subject->table().aot == nullptr) return context.skip("the plugin has no ahead-of-time functions");
  for (const ClaimedCase& item : context.find_claimed_of_ops(*subject, "op.*", kCases)) {
    Result<MutableGraph> graph = read_mutable_graph(item.built.image);
    const Result<graph::ImageBytes> plain =
        graph ? write_image(*graph) : Result<graph::ImageBytes>(tl::make_unexpected(graph.error()));
    if (!plain) continue;  // a case with state or control flow
    const Payload payload = compile(*subject, *plain).payload;
    for (uint32_t value = 0; value < graph->value_count(); ++value) {
      graph->quantised = value;
      if (const std::string wrong = check_quantised_value(*subject, *graph, payload); !wrong.empty())
        return context.fail("value " + std::to_string(value) + " of " + item.item->name + " (" +
                            item.item->op + ") with a scale of 0.375 and a zero point of 5: " + wrong);
    }
  }
  context.take_violations(*subject);
}

// Copies the op table into the outcome: the report compares it with the cases that ran.
void record_claims(CheckContext& context, Subject& subject) {
  const etb_op_sink sink = {ETB_INIT_SIZE(etb_op_sink), 0, &context.outcome().claims,
                            [](void* ctx, const etb_op_capability* op) {
                              constexpr size_t kMostRows = 20000;
                              constexpr uint32_t kMostRank = 16;
                              auto& rows = *static_cast<std::vector<ClaimRow>*>(ctx);
                              for (uint32_t i = 0; i < op->dtype_count && rows.size() < kMostRows; ++i)
                                rows.push_back({op->op, short_name(op->dtypes[i]), op->min_rank,
                                                std::min<uint32_t>(op->max_rank, kMostRank), op->layouts,
                                                (op->flags & ETB_OP_DYNAMIC_SIZES) != 0});
                              return etb_status{ETB_OK};
                            }};
  etb_error error = ETB_ERROR_INIT;
  (void)subject.table().aot->op_table(subject.handle(), &sink, &error);
}

// Removes the rows that nodes of claimed graphs of several nodes have, such as ops between codes.
void remove_reached_inside(Subject& subject, std::map<std::string, ClaimRow>& rows) {
  std::set<std::string> ops;
  for (const auto& [key, row] : rows) ops.insert(row.op);
  for (const Case& item : all_cases()) {
    if (rows.empty()) return;
    if (!item.name.starts_with("quant.") && ops.count(item.op) == 0) continue;
    const Result<BuiltCase> built = item.build(item.name);
    const auto view = built ? graph::View::open(built->image.span()) : make_error(Code::NOT_FOUND, "");
    if (!view) continue;
    const std::vector<ClaimRow> nodes = rows_of_nodes(view->method());
    const auto is_missing = [&](const ClaimRow& node) { return rows.count(node.op + " " + node.dtype) != 0; };
    if (std::none_of(nodes.begin(), nodes.end(), is_missing)) continue;
    if (!partition(subject, built->image).is_whole_claim()) continue;
    for (const ClaimRow& node : nodes) rows.erase(node.op + " " + node.dtype);
  }
}

// Reports op table entries that no case of the suite reaches: they were not tested.
void claims_are_tested(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  if (subject->table().aot == nullptr) return context.skip("the plugin has no ahead-of-time functions");
  record_claims(context, *subject);
  std::map<std::string, ClaimRow> rows;
  for (const ClaimRow& row : context.outcome().claims) rows.emplace(row.op + " " + row.dtype, row);
  for (const Case& item : all_cases()) {
    const auto row = rows.find(item.op + " " + short_name(item.dtype));
    if (row == rows.end()) continue;
    const Result<BuiltCase> built = item.build(item.name);
    if (built && partition(*subject, built->image).is_whole_claim()) rows.erase(row);
  }
  remove_reached_inside(*subject, rows);
  if (rows.empty()) return;
  std::string text;
  for (const auto& [key, row] : rows) text += (text.empty() ? "" : ", ") + key;
  context.warn(std::to_string(rows.size()) + " rows of the op table are reached by no case: " + text);
}

constexpr Check kChecks[] = {
    {"cap.op-table-is-stable", "The op table is not empty, and equal at every call.", "ABI-AOT-02",
     op_table_is_stable},
    {"cap.claims-something", "The plugin claims at least one case of the suite.", "", claims_something},
    {"cap.foreign-nodes-are-rejected", "Unknown ops are rejected by partition, and by compile.", "ABI-AOT-01",
     foreign_nodes_are_rejected},
    {"cap.nodes-of-branches-are-answered",
     "Partition claims or rejects every node of a graph with branches, those of the branches included.",
     "ABI-AOT-01", nodes_of_branches_are_answered},
    {"cap.quantised-values-are-looked-at",
     "An operand or result with a quantisation is rejected, or compiled otherwise than a plain one.",
     "ABI-AOT-01", quantised_values_are_looked_at},
    {"cap.claims-are-tested", "Each row of the op table has a claimed case; a warning lists the others.", "",
     claims_are_tested},
    {"cap.same-answer-in-any-order",
     "Claims depend on the image alone, not on the thread, the instance or earlier calls.", "ABI-AOT-02",
     same_answer_in_any_order},
    {"cap.same-outside-of-tests", "Results are the same in a process that does not look like a test.",
     "ABI-AOT-02", same_outside_of_tests},
};

}  // namespace

std::span<const Check> cap_checks() { return kChecks; }

}  // namespace etb::conformance
