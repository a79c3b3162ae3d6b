// SPDX-License-Identifier: Apache-2.0
// Lowers patterns to layers. A claim lowers one pattern alone, without the bytes of constants, and drops the
// result; so what is claimed also compiles.
#pragma once

#include <map>
#include <optional>

#include "plugins/dsp_stub/compile/op_table.hpp"
#include "plugins/dsp_stub/plan/network.hpp"

namespace etb::dsp_stub {

// int8 or int16 codes of a tensor in a buffer: logical sizes, and the order in which dimensions are stored, outermost
// first.
struct Codes {
  uint32_t buffer = kNoBuffer;
  std::vector<int64_t> sizes = {};
  std::vector<uint32_t> order = {};
  Params params = {};

  int64_t numel() const;
  // Steps between two elements of a dimension.
  std::vector<int64_t> strides() const;
  uint32_t size(size_t dim) const { return static_cast<uint32_t>(sizes[dim]); }
};
std::vector<uint32_t> row_major(size_t rank);
std::vector<uint32_t> channels_last();  // of rank 4
// True if both orders are the same bytes.
bool is_same_storage(const std::vector<int64_t>& sizes, const std::vector<uint32_t>& a,
                     const std::vector<uint32_t>& b);

// A fixed-point number: multiplier / 2^shift.
struct Multiplier {
  int32_t multiplier = 0;
  uint32_t shift = 1;
};
// `shift`, if given, is used as it is.
Multiplier to_multiplier(double number);
int32_t to_multiplier(double number, uint32_t shift);
// For sums of int16 codes.
Multiplier to_wide_multiplier(double number);

// Quantises a real number as the portable kernel does.
int32_t quantise(float number, const Params& params);

// Appends the bytes of a code.
void append_code(int32_t code, uint32_t width, std::vector<std::byte>& out);

// Builds the layers of a network.
class NetworkBuilder {
 public:
  // Without a region (claims), constants have no bytes.
  NetworkBuilder(const GraphFacts& facts, const Region* region, uint32_t tcm_bytes)
      : facts_(facts), region_(region), tcm_bytes_(tcm_bytes) {}

  const GraphFacts& facts() const { return facts_; }
  bool is_claiming() const { return region_ == nullptr; }
  uint32_t tcm_bytes() const { return tcm_bytes_; }
  Network& network() { return network_; }

  // Returns the codes of a value: an input, a constant, or a result that was set.
  [[nodiscard]] Result<Codes> codes(uint32_t value);
  void set_codes(uint32_t value, Codes codes) { values_[value] = std::move(codes); }
  uint32_t add_buffer(uint64_t count, uint32_t width);
  Codes add_codes(std::vector<int64_t> sizes, std::vector<uint32_t> order, const Params& params);
  Layer& add_layer(Layer layer);
  void set_handles(std::vector<uint32_t> handles) { handles_ = std::move(handles); }
  ConstantRange add_constant(std::span<const std::byte> bytes);
  ConstantRange reserve_constant(uint64_t nbytes);  // for claims: zeros
  [[nodiscard]] Result<std::vector<double>> read_numbers(uint32_t constant_value);

  // Returns the same codes in another order; copies if their bytes differ.
  Codes reorder(const Codes& codes, const std::vector<uint32_t>& order);
  // Copies codes into a part of `to`, whose dimensions begin at `begins`; steps apply to `from`.
  void copy_into(const Codes& from, const Codes& to, const std::vector<int64_t>& begins,
                 const std::vector<int64_t>& from_begins = {}, const std::vector<int64_t>& from_steps = {});
  // Makes inputs of the region inputs of the network, and outputs likewise.
  void add_input(uint32_t value);
  [[nodiscard]] Status add_output(uint32_t value);

 private:
  const GraphFacts& facts_;
  const Region* region_;
  uint32_t tcm_bytes_;
  Network network_;
  std::map<uint32_t, Codes> values_;
  std::vector<uint32_t> handles_;
};

// Lowers one pattern. Ops call its functions.
class PatternLowering {
 public:
  PatternLowering(NetworkBuilder& builder, const Pattern& pattern) : builder_(builder), pattern_(pattern) {}

  [[nodiscard]] Status lower();

  NetworkBuilder& builder() { return builder_; }
  const GraphFacts& facts() const { return builder_.facts(); }
  const Pattern& pattern() const { return pattern_; }
  size_t operand_count() const { return pattern_.operands.size(); }
  const Operand& operand_at(size_t index) const { return pattern_.operands[index]; }
  // Returns the codes of an operand of the core, after its moves and unary functions.
  [[nodiscard]] Result<Codes> operand(size_t index);
  // Parameters of the core's result: those of the quantize node, limited by clamps between.
  const Params& result() const { return result_; }
  std::vector<int64_t> result_sizes() const;  // of the core or move node that is lowered
  // Sets the result of the core.
  void finish(Codes codes) { current_ = std::move(codes); }
  // The codes that a move changes.
  const Codes& current() const { return current_; }
  uint32_t node_index() const { return node_; }

 private:
  [[nodiscard]] Status apply_steps(const std::vector<uint32_t>& steps, const Params& final_params,
                                   bool is_tail);
  [[nodiscard]] Status limit_result();
  [[nodiscard]] Status move(uint32_t index);

  NetworkBuilder& builder_;
  const Pattern& pattern_;
  Params result_;
  Codes current_;
  uint32_t node_ = graph::kNone;
};

// Functions of one element, applied in order. None: the identity.
class Functions {
 public:
  Functions(const GraphFacts& facts, std::vector<uint32_t> nodes)
      : facts_(&facts), nodes_(std::move(nodes)) {}
  bool empty() const { return nodes_.empty(); }
  bool are_clamps() const;
  float apply(float x) const;

 private:
  const GraphFacts* facts_;
  std::vector<uint32_t> nodes_;
};

// Adds the layer that applies functions to codes and quantises the results.
[[nodiscard]] Result<Codes> map_codes(NetworkBuilder& builder, const Codes& from, const Functions& functions,
                                      const Params& to);

// Answers for all nodes of a graph.
struct Answer {
  bool is_claimed = false;
  uint32_t group = 0;
  std::string reason, text;
};
std::vector<Answer> answer_nodes(const GraphFacts& facts, uint32_t tcm_bytes);
// Lowers a region of whole patterns.
[[nodiscard]] Result<Network> lower_region(const GraphFacts& facts, const Region* region, uint32_t tcm_bytes);

}  // namespace etb::dsp_stub
