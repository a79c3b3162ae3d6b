// From the nodes of a graph to a draft of a payload. A claim is a lowering of one node into a draft that is thrown away: what is claimed
// compiles, because both are the same code.
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

// A graph value in the draft.
struct Form {
  uint32_t id = kXnnNoValue;
  Permutation perm;
};

// A mask of attention in the draft: what is added to scores, and by row 0 where all of it is hidden, else 1; kXnnNoValue: none, or no such row.
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
// Of floats; what is computed with integers is floats too.
etb_dtype to_dtype(XnnDatatype datatype);

class Lowering {
 public:
  // Without a region constants have no bytes, which claims never look at.
  Lowering(const Graph& graph, const GraphFacts& facts, const Region* region)
      : graph_(graph), facts_(facts), region_(region) {}

  // Lowers one node; the error's reason is a word of etb_reject.
  [[nodiscard]] Status lower(const Node& node);
  // Inputs that are no constants become the payload's, in order.
  [[nodiscard]] Status add_inputs();
  [[nodiscard]] Status add_outputs();
  Draft& draft() { return draft_; }

  // ---- For the functions that lower an op (ops/)

  // The node's arguments. Numbers that the schema has a default for take it as `otherwise`.
  bool has(const char* name) const;
  // Value `name`; `refuse`s when there is none.
  [[nodiscard]] Result<uint32_t> value(const char* name) const;
  [[nodiscard]] Result<std::vector<uint32_t>> values(const char* name) const;
  [[nodiscard]] Result<int64_t> integer(const char* name, int64_t otherwise) const;
  [[nodiscard]] Result<double> number(const char* name, double otherwise) const;
  [[nodiscard]] Result<bool> flag(const char* name, bool otherwise) const;
  [[nodiscard]] Result<std::vector<int64_t>> integers(const char* name, std::vector<int64_t> otherwise) const;
  // Empty when there are none.
  std::vector<double> numbers(const char* name) const;
  // A dimension of a tensor of `rank`, counted from the front.
  [[nodiscard]] Result<uint32_t> dim(const char* name, int64_t otherwise, size_t rank) const;
  std::string_view text(const char* name) const;

  etb_graph_spec spec(uint32_t value) const { return graph_.value(value).spec(); }
  std::vector<int64_t> sizes(uint32_t value) const;
  size_t rank(uint32_t value) const { return spec(value).rank; }
  Draft::Extents extents(uint32_t value) const;
  uint32_t result(uint32_t index = 0) const { return node_->first_output() + index; }
  uint32_t result_count() const { return node_->output_count(); }
  // How often nodes read a value, and the graph's outputs.
  uint32_t use_count(uint32_t value) const { return facts_.use_counts[value]; }

  // The value where it is, in whatever order its dimensions lie.
  [[nodiscard]] Result<Form> form(uint32_t value);
  // The value in a given order; `natural` is 0, 1, 2, ...
  [[nodiscard]] Result<uint32_t> arranged(uint32_t value, const Permutation& perm);
  [[nodiscard]] Result<uint32_t> natural(uint32_t value) { return arranged(value, identity(rank(value))); }
  [[nodiscard]] Result<ConstantPtr> constant(uint32_t value, const char* what);
  bool is_constant(uint32_t value);

  // Says where the result of a node is.
  void define(uint32_t value, Form form);
  // A new value for result `index`, its dimensions in this order.
  [[nodiscard]] Result<uint32_t> add_result(uint32_t index, const Permutation& perm);
  [[nodiscard]] Result<uint32_t> add_result(uint32_t index = 0) {
    return add_result(index, identity(rank(result(index))));
  }
  // The node that makes `form`, when only this node reads what it makes: then its result may be changed.
  XnnNode* only_producer(uint32_t value);
  // A constant with the datatype of `like`.
  uint32_t add_floats(std::vector<int64_t> sizes, std::vector<float> values, uint32_t like);
  etb_dtype dtype_of(uint32_t id) const { return to_dtype(draft_.value(id).datatype); }

  // ---- Quantisation. A graph has it as pairs: quantize, then dequantize in front of an op on floats. When all that an op reads was
  // dequantised and the one reader of its result quantises again, the op is lowered to XNNPACK's own on integers, and form() gives those.

  bool is_quantised() const { return is_quantised_; }
  QuantParams params_of(uint32_t id) const { return {draft_.value(id).scale, draft_.value(id).zero_point}; }
  void set_params(uint32_t id, QuantParams params);
  // The result's scale, for a value that lowering made by add_like.
  void adopt_result_params(uint32_t id) {
    if (is_quantised_) set_params(id, result_params_);
  }
  // The integers behind a float value, if there are any.
  std::optional<Form> integers_of(uint32_t value);
  // A filter made of `weight`; `channel_dim` is where its outputs lie.
  [[nodiscard]] Result<uint32_t> add_filter(const ConstantPtr& filter, uint32_t weight, uint32_t channel_dim,
                                            XnnDatatype datatype);
  // The same for a layer whose input is quantised at run time: int8 with a scale an output.
  [[nodiscard]] Result<uint32_t> add_dynamic_filter(const ConstantPtr& filter, uint32_t weight,
                                                    size_t outputs);
  // A bias beside it, in steps of input times weight when the node works on integers.
  [[nodiscard]] Result<uint32_t> add_bias(const ConstantPtr& bias, uint32_t input, uint32_t filter);
  // The tensor behind values that stand for its quantisation at run time.
  std::optional<uint32_t> dynamic_source(uint32_t value) const;
  void define_dynamic(uint32_t value, uint32_t source) { dynamic_[value] = source; }
  // Constant integers that hold four bits each, one a byte as yet.
  void mark_four_bits(uint32_t id) { four_bits_.insert(id); }
  bool has_four_bits(uint32_t id) const { return four_bits_.count(id) != 0; }
  // A value quantised at run time, a scale for each stretch of its last dimensions. Made once.
  uint32_t quantised_at_run_time(uint32_t id, uint32_t nonbatch_dim_count);
  // What was made of a mask, for the layers that read the same one.
  std::map<uint32_t, AttentionMask>& attention_masks() { return attention_masks_; }
  bool is_claiming() const { return region_ == nullptr; }
  // The node that reads a value, and the one that makes it; none for other positions.
  std::optional<Node> reader(uint32_t value) const;

  // "dtype", "rank", "layout", "dynamic", "quant", "attribute", "constant", "empty"
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
  std::map<uint32_t, Form> integers_;     // of float values
  std::map<uint32_t, uint32_t> dynamic_;  // see define_dynamic
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> quantised_at_run_time_;
  std::map<uint32_t, AttentionMask> attention_masks_;
  std::set<uint32_t> four_bits_;
  bool is_quantised_ = false;  // of the node at hand
  QuantParams result_params_;
  std::map<uint32_t, int64_t> id_use_counts_;  // of a draft's value, over all graph values that are it
};

// Scale and zero point of a quantize or dequantize node of int8 with numbers.
std::optional<QuantParams> read_params(const std::optional<Node>& node);

// Claims or rejects every node of a graph. Whether it takes one, a lowering of it alone says.
[[nodiscard]] Status claim_nodes(const Graph& graph, const PartitionSink& sink);
[[nodiscard]] Result<Artifact> compile_region(const Region& region);

}  // namespace etb::xnnpack
