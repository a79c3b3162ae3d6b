// SPDX-License-Identifier: Apache-2.0
// Builds a payload. Dimensions of a tensor may be stored in any order (Permutation), so a transpose costs
// nothing until an op needs a fixed order. Values and nodes without a reader are left out of the payload.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "etb/cpp/compile.hpp"
#include "plugins/xnnpack/compile/constant.hpp"
#include "plugins/xnnpack/payload/payload.hpp"

namespace etb::xnnpack {

// Storage order of a tensor: dimension i of the tensor is dimension perm[i] of the payload's value.
using Permutation = std::vector<uint32_t>;

Permutation identity(size_t rank);
bool is_identity(const Permutation& perm);
// Returns the transpose that changes the storage order of a tensor.
Permutation order_between(const Permutation& from, const Permutation& to);
// [N, C, H, W] whose value is [N, H, W, C].
inline const Permutation kChannelsLast = {0, 3, 1, 2};

// Sizes of a value: upper bounds, and a mask of the dimensions that change between runs.
struct Extents {
  std::vector<uint32_t> sizes;
  uint32_t dynamic_dims = 0;

  bool is_dynamic(size_t dim) const { return (dynamic_dims >> dim & 1) != 0; }
  // Adds dimensions of size 1 before the others.
  void widen(size_t count) {
    sizes.insert(sizes.begin(), count, 1);
    dynamic_dims <<= count;
  }
  bool operator==(const Extents&) const = default;
};

// Returns the extents of a tensor's value in the payload.
Extents arrange(const Extents& extents, const Permutation& perm);

[[nodiscard]] Result<XnnDatatype> datatype_of(etb_dtype dtype);
// Returns the float dtype. Integer datatypes map to float32.
etb_dtype to_dtype(XnnDatatype datatype);

class XnnGraphBuilder {
 public:
  uint32_t add_value(XnnDatatype datatype, Extents extents);
  // Adds a value with the properties of `id` but other extents.
  uint32_t add_like(uint32_t id, Extents extents);
  uint32_t add_constant(const ConstantPtr& constant, XnnDatatype datatype);
  // Adds a constant with the datatype of `like`.
  uint32_t add_floats(std::vector<int64_t> sizes, std::vector<float> values, uint32_t like);
  uint32_t add_input(XnnDatatype datatype, Extents extents);
  // Makes `id` the next output. Copies it if it is an input, a constant or already an output.
  void add_output(uint32_t id);

  XnnNode& add_node(XnnOperator op, const std::vector<uint32_t>& inputs,
                    const std::vector<uint32_t>& outputs);
  // Adds a transpose. Adds none if `order` is the identity or moves only dimensions of size 1. Equal
  // transposes share one node.
  uint32_t add_transpose(uint32_t id, const Permutation& order);
  // Errors: NOT_SUPPORTED if more than one dimension is dynamic.
  [[nodiscard]] Result<uint32_t> add_reshape(uint32_t id, Extents extents);

  // Quantises a value at run time, with one scale for each block of its last dimensions. Equal requests share
  // one value.
  uint32_t add_runtime_quantised(uint32_t id, uint32_t nonbatch_dim_count);

  XnnValue& value(uint32_t id) { return values_[id]; }
  const XnnValue& value(uint32_t id) const { return values_[id]; }
  size_t value_count() const { return values_.size(); }
  Extents extents(uint32_t id) const { return {values_[id].sizes, dynamic_dims_[id]}; }
  etb_dtype dtype(uint32_t id) const { return to_dtype(values_[id].datatype); }
  // Marks constant integers as 4-bit values, still stored one a byte.
  void mark_four_bits(uint32_t id) { four_bits_.insert(id); }
  bool has_four_bits(uint32_t id) const { return four_bits_.count(id) != 0; }
  // Returns the constant of a value, NULL if it has none.
  const ConstantPtr& constant(uint32_t id) const { return constants_[id]; }
  // Returns the node that computes a value, NULL if there is none. Valid until the next node is added.
  XnnNode* producer(uint32_t id);
  // Sets the debug handle of the nodes added from here on.
  void set_debug_handle(uint32_t handle) {
    debug_handle_ = handle;
    joined_.clear();
  }
  // Joins another debug handle to the nodes that are added until the next set_debug_handle or end_joins.
  void join_next(uint32_t handle) { joined_.push_back(handle); }
  void end_joins() { joined_.clear(); }
  // Adds the current debug handle to the node that computes `id`.
  void add_source(uint32_t id) { add_source(id, debug_handle_); }
  // The same for another debug handle.
  void add_source(uint32_t id, uint32_t debug_handle);

  // Rejects sizes that a delegate would reject, in the nodes that compute `results`. Discards the others.
  [[nodiscard]] Status check_sizes(std::vector<uint32_t> results);
  // Returns the payload and its named data. Reads the constants.
  [[nodiscard]] Result<Artifact> finish();

 private:
  uint32_t skip_reshapes(uint32_t id, const Extents& to, std::vector<uint32_t>& sources) const;
  void copy_scale(uint32_t from, uint32_t to);
  void drop_unused();
  void drop_unused_nodes(std::vector<bool>& is_used);
  void renumber(const std::vector<uint32_t>& id_of);

  std::vector<XnnValue> values_;
  std::vector<uint32_t> dynamic_dims_;
  std::vector<ConstantPtr> constants_;  // by value
  std::vector<uint32_t> producers_;     // by value: index of a node, kXnnNoValue
  std::vector<XnnNode> nodes_;
  std::vector<std::vector<uint32_t>> sources_;  // by node: debug handles
  std::vector<uint32_t> inputs_, outputs_;
  std::map<std::pair<const Constant*, XnnDatatype>, uint32_t> constant_ids_;
  std::map<std::pair<uint32_t, Permutation>, uint32_t> transposes_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> runtime_quantised_;
  std::set<uint32_t> four_bits_;
  uint32_t debug_handle_ = 0;
  std::vector<uint32_t> joined_;
};

}  // namespace etb::xnnpack
