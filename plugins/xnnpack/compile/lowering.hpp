// SPDX-License-Identifier: Apache-2.0
// Lowers the nodes of a graph into a payload. A claim lowers one node into a payload that is discarded.
// Claimed nodes compile because both use the same code.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugins/xnnpack/compile/draft.hpp"
#include "plugins/xnnpack/compile/graph_facts.hpp"
#include "plugins/xnnpack/compile/op.hpp"

namespace etb::xnnpack {

// A lowered graph value.
struct Form {
  uint32_t id = kXnnNoValue;
  Permutation perm;
};

// A lowered attention mask. `added` is added to scores. `open_rows` holds 0 for a row that is fully masked,
// else 1. kXnnNoValue: no mask, or no such row.
struct AttentionMask {
  uint32_t added = kXnnNoValue;
  uint32_t open_rows = kXnnNoValue;
};

struct QuantParams {
  float scale = 1;
  int32_t zero_point = 0;
  bool operator==(const QuantParams&) const = default;
};

[[nodiscard]] Result<XnnDatatype> datatype_of(etb_dtype dtype);
// Returns the float dtype. Integer datatypes map to float32.
etb_dtype to_dtype(XnnDatatype datatype);

class Lowering {
 public:
  // Without a region (claims), constants have no bytes.
  Lowering(const Graph& graph, const GraphFacts& facts, const Region* region)
      : graph_(graph), facts_(facts), region_(region) {}

  // Lowers one node. On error, the reason is a word of etb_reject.
  [[nodiscard]] Status lower(const Node& node);
  // Adds the non-constant inputs as the payload's inputs, in order.
  [[nodiscard]] Status add_inputs();
  [[nodiscard]] Status add_outputs();
  Draft& draft() { return draft_; }

  // ---- For the functions that lower an op (ops/)

  // Arguments of the node. Missing numbers with a default in the schema return `otherwise`.
  bool has(const char* name) const;
  // Returns value `name`, or rejects the node if it has none.
  [[nodiscard]] Result<uint32_t> value(const char* name) const;
  [[nodiscard]] Result<std::vector<uint32_t>> values(const char* name) const;
  [[nodiscard]] Result<int64_t> integer(const char* name, int64_t otherwise) const;
  [[nodiscard]] Result<double> number(const char* name, double otherwise) const;
  [[nodiscard]] Result<bool> flag(const char* name, bool otherwise) const;
  [[nodiscard]] Result<std::vector<int64_t>> integers(const char* name, std::vector<int64_t> otherwise) const;
  // Returns an empty list if the argument is missing.
  std::vector<double> numbers(const char* name) const;
  // Returns a dimension of a tensor of `rank`, counted from the front.
  [[nodiscard]] Result<uint32_t> dim(const char* name, int64_t otherwise, size_t rank) const;
  std::string_view text(const char* name) const;

  etb_graph_spec spec(uint32_t value) const { return graph_.value(value).spec(); }
  std::vector<int64_t> sizes(uint32_t value) const;
  size_t rank(uint32_t value) const { return spec(value).rank; }
  Draft::Extents extents(uint32_t value) const;
  uint32_t result(uint32_t index = 0) const { return node_->first_output() + index; }
  uint32_t result_count() const { return node_->output_count(); }
  // Number of reads of a value by nodes and the graph's outputs.
  uint32_t use_count(uint32_t value) const { return facts_.use_counts[value]; }

  // Returns the value in its current dimension order.
  [[nodiscard]] Result<Form> form(uint32_t value);
  // Returns the value in a given dimension order; `natural` is 0, 1, 2, ...
  [[nodiscard]] Result<uint32_t> arranged(uint32_t value, const Permutation& perm);
  [[nodiscard]] Result<uint32_t> natural(uint32_t value) { return arranged(value, identity(rank(value))); }
  [[nodiscard]] Result<ConstantPtr> constant(uint32_t value, const char* what);
  bool is_constant(uint32_t value);

  // Defines the result of a node.
  void define(uint32_t value, Form form);
  // Adds a value for result `index` with dimensions in this order.
  [[nodiscard]] Result<uint32_t> add_result(uint32_t index, const Permutation& perm);
  [[nodiscard]] Result<uint32_t> add_result(uint32_t index = 0) {
    return add_result(index, identity(rank(result(index))));
  }
  // Returns the producer of a value if this node is its only reader. The caller may then change its result.
  XnnNode* only_producer(uint32_t value);
  // Adds a constant with the datatype of `like`.
  uint32_t add_floats(std::vector<int64_t> sizes, std::vector<float> values, uint32_t like);
  etb_dtype dtype_of(uint32_t id) const { return to_dtype(draft_.value(id).datatype); }

  // ---- Quantisation. Graphs express it as pairs: quantize, then dequantize before an op on floats. If all
  // inputs of an op are dequantised and the one reader of its result quantises again, the op is lowered to
  // XNNPACK's integer operator. form() then returns the integers.

  bool is_quantised() const { return is_quantised_; }
  QuantParams params_of(uint32_t id) const { return {draft_.value(id).scale, draft_.value(id).zero_point}; }
  void set_params(uint32_t id, QuantParams params);
  // Sets the result's scale on a value that lowering created with add_like.
  void adopt_result_params(uint32_t id) {
    if (is_quantised_) set_params(id, result_params_);
  }
  // Returns the integers that a float value was dequantised from, if any.
  std::optional<Form> integers_of(uint32_t value);
  // Adds a filter from constant `weight`; `channel_dim` is the dimension of its outputs.
  [[nodiscard]] Result<uint32_t> add_filter(const ConstantPtr& filter, uint32_t weight, uint32_t channel_dim,
                                            XnnDatatype datatype);
  // As add_filter, for a layer with a dynamically quantised input: int8 with one scale per output.
  [[nodiscard]] Result<uint32_t> add_dynamic_filter(const ConstantPtr& filter, uint32_t weight,
                                                    size_t outputs);
  // Adds the bias. On integers, its step is input scale times weight scale.
  [[nodiscard]] Result<uint32_t> add_bias(const ConstantPtr& bias, uint32_t input, uint32_t filter);
  // Returns the tensor that the nodes of a dynamic quantisation represent.
  std::optional<uint32_t> dynamic_source(uint32_t value) const;
  void define_dynamic(uint32_t value, uint32_t source) { dynamic_[value] = source; }
  // Marks constant integers as 4-bit values, still stored one a byte.
  void mark_four_bits(uint32_t id) { four_bits_.insert(id); }
  bool has_four_bits(uint32_t id) const { return four_bits_.count(id) != 0; }
  // Quantises a value at run time, with one scale for each block of its last dimensions. Equal requests share
  // one value.
  uint32_t quantised_at_run_time(uint32_t id, uint32_t nonbatch_dim_count);
  // Lowered masks, shared by the layers that read the same mask.
  std::map<uint32_t, AttentionMask>& attention_masks() { return attention_masks_; }
  bool is_claiming() const { return region_ == nullptr; }
  // Returns a reader of a value, and its producer; none if there is no such node.
  std::optional<Node> reader(uint32_t value) const;

  // Reasons: "dtype", "rank", "layout", "dynamic", "quant", "attribute", "constant", "empty".
  template <class... T>
  static tl::unexpected<Error> refuse(const char* reason, const T&... parts) {
    Error error{Code::NOT_SUPPORTED, {}, reason, 0};
    (append(error.message, parts), ...);
    return tl::make_unexpected(std::move(error));
  }

 private:
  template <class T>
  static void append(std::string& text, const T& part) {
    if constexpr (std::is_arithmetic_v<T>) {
      text += std::to_string(part);
    } else {
      text += part;
    }
  }
  std::optional<graph::Argument> find(const char* name) const;
  Result<Form> enter(uint32_t value);
  ConstantPtr image_constant(uint32_t value) const;
  bool is_made_of_constants(uint32_t value) const;
  void fold(uint32_t value);
  Result<Form> to_floats(uint32_t value);
  void forget_results(size_t first_new);
  bool choose_quantised(const Node& node, QuantKind kind);
  std::optional<QuantParams> find_result_params(uint32_t value) const;

  const Graph& graph_;
  const GraphFacts& facts_;
  const Region* region_;
  const Node* node_ = nullptr;
  Draft draft_;
  std::map<uint32_t, Form> forms_;
  std::map<uint32_t, Form> integers_;     // for float values
  std::map<uint32_t, uint32_t> dynamic_;  // see define_dynamic
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> quantised_at_run_time_;
  std::map<uint32_t, AttentionMask> attention_masks_;
  std::set<uint32_t> four_bits_;
  bool is_quantised_ = false;  // for the current node
  QuantParams result_params_;
  std::map<uint32_t, int64_t> id_use_counts_;  // by payload value: reads of all graph values that alias it
};

// Reads scale and zero point of an int8 quantize or dequantize node with constant numbers.
std::optional<QuantParams> read_params(const std::optional<Node>& node);

// Claims or rejects every node of a graph: lowers each one alone.
[[nodiscard]] Status claim_nodes(const Graph& graph, const PartitionSink& sink);
[[nodiscard]] Result<Artifact> compile_region(const Region& region);

}  // namespace etb::xnnpack
