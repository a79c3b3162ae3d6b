// SPDX-License-Identifier: Apache-2.0
// LoweringContext: what an op's function (compile/ops/) reads of its node, and adds to the payload's graph.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "etb/cpp/compile.hpp"
#include "plugins/gpu/compile/arguments.hpp"
#include "plugins/gpu/graph/graph.hpp"

namespace etb::gpu {

// Facts about the nodes of a graph, computed once.
struct GraphFacts {
  explicit GraphFacts(const Graph& graph);
  std::vector<uint32_t> use_counts;  // by value: reads by nodes and the graph's outputs
  std::vector<uint32_t> producers;   // by value: index of the node, graph::kNone for none
};

// Everything that is lowered of a graph so far.
struct LoweringState {
  const Graph& image;
  const GraphFacts& facts;
  const Region* region;  // NULL for a claim: constants have no bytes
  GpuGraph graph = {};
  std::map<uint32_t, uint32_t> ids = {};        // by value of the image: value of the payload
  std::map<uint32_t, uint32_t> id_uses = {};    // by value of the payload: values of the image that it is
  std::map<uint32_t, uint32_t> constants = {};  // by value of the payload: constant input of the image
  // By value of the payload that has a part of its constant only.
  struct Part {
    uint64_t offset = 0, nbytes = 0;
  };
  std::map<uint32_t, Part> parts = {};
};

// Numbers of a value of this dtype in the host's memory. float16 and bool are floats on the device; so is int64 as a result.
HostNumbers host_numbers_of(uint32_t dtype);

// Dtypes of values that an op takes. Floats: float32 or float16.
enum class Entered : uint8_t { kFloats, kBools, kFloatsOrBools, kIndices, kAny };

class LoweringContext {
 public:
  LoweringContext(LoweringState& state, const Node& node) : state_(state), node_(node), args_(node) {}

  const Arguments& args() const { return args_; }
  const Node& node() const { return node_; }
  uint32_t result(uint32_t index = 0) const { return node_.first_output() + index; }
  uint32_t result_count() const { return node_.output_count(); }
  etb_graph_spec spec(uint32_t value) const { return state_.image.value(value).spec(); }
  // Returns the upper bounds of the sizes of a value: of rank kMaxRank and kMaxNumel elements at most.
  [[nodiscard]] Result<Shape> bounds(uint32_t value) const;
  bool is_dynamic(uint32_t value, uint32_t dim) const { return (spec(value).dynamic_dims >> dim & 1) != 0; }
  uint32_t use_count(uint32_t value) const { return state_.facts.use_counts[value]; }
  bool is_constant(uint32_t value) const;
  const GpuGraph& graph() const { return state_.graph; }

  // Returns a float operand as a value of the payload. Inputs and constants are added at their first use.
  [[nodiscard]] Result<uint32_t> operand(const char* name);
  [[nodiscard]] Result<uint32_t> operand(uint32_t value);
  // Likewise an operand of bools, which are 0 and 1 on the device; and one of floats or bools.
  [[nodiscard]] Result<uint32_t> bool_operand(const char* name);
  [[nodiscard]] Result<uint32_t> moved_operand(const char* name);
  [[nodiscard]] Result<uint32_t> moved_operand(uint32_t value);
  // Likewise for a tensor of integers, which indexes.
  [[nodiscard]] Result<uint32_t> index_operand(const char* name);
  [[nodiscard]] Result<uint32_t> index_operand(uint32_t value);
  // Returns an operand that must be a constant.
  [[nodiscard]] Result<uint32_t> constant(const char* name);
  // Returns an operand that must be a constant, as a value of its own with these sizes, which hold as many elements.
  [[nodiscard]] Result<uint32_t> constant_as(const char* name, const Shape& shape);
  // Returns a part of a constant, from an element on, as a value of its own with these sizes.
  [[nodiscard]] Result<uint32_t> constant_part(uint32_t value, uint64_t first_element, const Shape& shape);
  // Returns a tensor or a number as a value of the payload. Constants of one element may have any dtype.
  [[nodiscard]] Result<uint32_t> operand_or_number(const char* name);
  uint32_t add_floats(std::vector<float> floats, bool is_scalar = false);
  // Reads all numbers of a constant of any dtype of numbers; zeros for a claim.
  [[nodiscard]] Result<std::vector<float>> read_floats(uint32_t value) const;
  // Makes the result a constant with these codes: those of constant `value` of the image.
  [[nodiscard]] Status define_codes(uint32_t value, const Codes& codes);

  // Adds a node whose result is result `index` of this node.
  [[nodiscard]] Status add_result_node(GpuNode node, uint32_t index = 0,
                                       Entered dtypes = Entered::kFloatsOrBools);
  // Adds a node whose result only later nodes of this op read.
  uint32_t add_node(GpuNode node);
  // Makes result `index` another name of a value.
  void define(uint32_t index, uint32_t id);
  // Returns the node that computes a value if this node is its only reader. The caller may then change it.
  GpuNode* find_only_producer(uint32_t id);

  // Rejects the node if a result after the first has a reader.
  [[nodiscard]] Status check_only_first_result_is_read(const char* what) const;

 private:
  // Lowers the node that decodes the codes of a constant, for the claim of a node that reads them: a region has both.
  void lower_decoder(uint32_t value);
  [[nodiscard]] Result<float> read_number(uint32_t value) const;
  [[nodiscard]] Result<uint32_t> find_or_enter(uint32_t value, Entered wanted);

  LoweringState& state_;
  const Node& node_;
  Arguments args_;
};

// Adds an input or constant of the image to the payload; for a claim any value.
[[nodiscard]] Result<uint32_t> enter(LoweringState& state, uint32_t value, Entered wanted);

// Returns the bytes of a constant input of the image, valid until compile returns.
[[nodiscard]] Result<std::span<const std::byte>> constant_bytes(const LoweringState& state, uint32_t value,
                                                                std::optional<Payload>& owner);

}  // namespace etb::gpu
