// SPDX-License-Identifier: Apache-2.0
// Reads the graph part of a model's JSON: nodes, values and nested graphs.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "partitioner_sdk/import/diagnostics.hpp"
#include "partitioner_sdk/import/json_document.hpp"
#include "partitioner_sdk/ir/module.hpp"

namespace etb::pt2 {

// Names of one graph of the archive and their values: a ValueRef, or a Dim for a symbolic int.
using Scope = std::unordered_map<std::string_view, ir::Argument>;

class GraphReader {
 public:
  enum class Handles : uint8_t { kNew, kOfFile };
  // Nodes get debug handles in order, or those that the file of an earlier compilation has.
  GraphReader(ir::Module& module, Diagnostics& diagnostics, Handles handles = Handles::kNew)
      : module_(module), diagnostics_(diagnostics), handles_(handles) {}

  // Builds the method: inputs in the order of the JSON (without literals), nodes, no outputs yet. `out_scope`
  // receives the value of each name. Errors are collected; the graph is valid only without errors.
  void read_method(Json graph, Scope& out_scope);

  // Reads an argument of the JSON. Returns nullopt after adding an error.
  std::optional<ir::Argument> read_argument(Json argument, const Scope& scope, const std::string& where);

 private:
  // Arguments of a wrapped call that the op writes (functionalized.hpp): positions in its schema, and which base each
  // of them is.
  struct WrittenArguments {
    std::vector<ir::ValueId> bases;
    std::vector<std::pair<uint32_t, int64_t>> positions;
  };

  uint32_t read_subgraph(Json graph, std::string name);
  void read_inputs(Json graph, uint32_t index, Scope& scope);
  void read_nodes(Json graph, uint32_t index, Scope& scope);
  void read_node(Json node, uint32_t index, Scope& scope);
  // With `written`, the node is a wrapper: other arguments than the op's are skipped, and those in it are not expected.
  void read_schema_arguments(Json node, ir::Node& out, const Scope& scope, const std::string& where,
                             const WrittenArguments* written = nullptr);
  void read_schema_argument(Json argument, const ops::Schema& schema, size_t at, ir::Node& out,
                            std::vector<bool>& is_given, const Scope& scope, const std::string& where);
  void expect_arguments(const ops::Schema& schema, const std::vector<bool>& is_given,
                        const std::string& where);
  void read_effect(Json node, ir::Node out, uint32_t index, Scope& scope, const std::string& where);
  void read_results(Json node, ir::Node& out, uint32_t index, Scope& scope, const std::string& where);
  void read_functionalized(Json node, ir::Node call, uint32_t index, Scope& scope, const std::string& where);
  bool read_bases(Json node, const ops::Schema& schema, const Scope& scope, const std::string& where,
                  WrittenArguments& out);
  static void find_bases(const ir::Node& call, const ops::Schema& schema, WrittenArguments& out);
  void add_written_copies(Json node, ir::Node& call, uint32_t index, Scope& scope, const std::string& where,
                          const WrittenArguments& written);
  ir::ValueId add_absent_result(const ir::Node& node, uint32_t index);
  Result<std::optional<ir::Dtype>> read_autocast(Json node) const;
  void forget_results(Json node, Scope& scope);
  void inline_graph(Json node, bool is_autocast, uint32_t index, Scope& scope, const std::string& where);
  std::optional<ir::ValueId> define(Json result, uint32_t index, Scope& scope, const std::string& where);
  std::optional<ir::Value> read_value(std::string_view kind, std::string_view name, const std::string& where);
  std::optional<ir::Argument> look_up(std::string_view name, const Scope& scope, const std::string& where);
  std::optional<ir::ValueId> read_tensor(Json item, const Scope& scope, const std::string& where);
  std::optional<ir::Argument> read_values(Json list, const Scope& scope, const std::string& where,
                                          bool has_none);
  std::optional<ir::Argument> read_dims(Json list, const Scope& scope, const std::string& where);
  void index_tables(Json graph);

  ir::Module& module_;
  Diagnostics& diagnostics_;
  const Handles handles_;
  uint32_t next_debug_handle_ = 1;
  uint32_t next_opaque_symbol_ = 0;
  static constexpr uint32_t kMaxDepth = 32;  // graphs nest at most this deep
  uint32_t depth_ = 0;
  std::optional<ir::Dtype> autocast_;  // inside a block that computes in this dtype
  // Descriptions by name; searching the tables of a large graph would be slow. One entry per graph, keyed by
  // table and name.
  using Table = std::unordered_map<std::string_view, Json>;
  struct Tables {
    Table tensors, ints, floats, bools;
  };
  std::vector<Tables> tables_;
};

}  // namespace etb::pt2
