// A payload in the making. Dimensions of a tensor may lie in any order (Permutation), so transposes cost nothing until somebody insists on an
// order; what nobody uses in the end is left out.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "api/format/xnnpack_payload.hpp"
#include "etb/cpp/compile.hpp"
#include "plugins/xnnpack/compile/constant.hpp"

namespace etb::xnnpack {

using format::kXnnNoValue;
using format::XnnDatatype;
using format::XnnNode;
using format::XnnOperator;
using format::XnnQuantisation;
using format::XnnValue;

// Where the dimensions of a tensor lie: dimension i of the tensor is dimension perm[i] of the payload's value.
using Permutation = std::vector<uint32_t>;

Permutation identity(size_t rank);
bool is_identity(const Permutation& perm);
// [N, C, H, W] whose value is [N, H, W, C].
inline const Permutation kChannelsLast = {0, 3, 1, 2};

class Draft {
 public:
  // Extents of a value: upper bounds, and which of them change from run to run.
  struct Extents {
    std::vector<uint32_t> sizes;
    uint32_t dynamic_dims = 0;
  };

  uint32_t add_value(XnnDatatype datatype, Extents extents);
  // A value like `id`, of other extents.
  uint32_t add_like(uint32_t id, Extents extents);
  uint32_t add_constant(const ConstantPtr& constant, XnnDatatype datatype);
  uint32_t add_input(XnnDatatype datatype, Extents extents);
  // Makes `id` the next output; copies it when it is an input, a constant or an output already.
  void add_output(uint32_t id);

  XnnNode& add_node(XnnOperator op, const std::vector<uint32_t>& inputs,
                    const std::vector<uint32_t>& outputs);
  // A transpose; none when `order` is the identity or moves only dimensions of size 1. Equal ones are made once.
  uint32_t add_transpose(uint32_t id, const Permutation& order);
  // Errors: NOT_SUPPORTED when more than one dimension is dynamic.
  [[nodiscard]] Result<uint32_t> add_reshape(uint32_t id, Extents extents);

  XnnValue& value(uint32_t id) { return values_[id]; }
  const XnnValue& value(uint32_t id) const { return values_[id]; }
  size_t value_count() const { return values_.size(); }
  Extents extents(uint32_t id) const { return {values_[id].sizes, dynamic_dims_[id]}; }
  // The constant behind a value, NULL for others.
  const ConstantPtr& constant(uint32_t id) const { return constants_[id]; }
  // The node that makes a value, NULL when none does. Valid until the next node is added.
  XnnNode* producer(uint32_t id);
  // From now on nodes name this as their source.
  void set_debug_handle(uint32_t handle) { debug_handle_ = handle; }
  // The node that makes `id` also does what the source at hand says.
  void add_source(uint32_t id) { add_source(id, debug_handle_); }

  // The payload and its named data. Reads the constants.
  [[nodiscard]] Result<Artifact> finish();

 private:
  void add_source(uint32_t id, uint32_t debug_handle);
  uint32_t behind_views(uint32_t id, const Extents& extents, std::vector<uint32_t>& sources) const;
  void copy_scale(uint32_t from, uint32_t to);
  void drop_unused();

  std::vector<XnnValue> values_;
  std::vector<uint32_t> dynamic_dims_;
  std::vector<ConstantPtr> constants_;  // by value
  std::vector<uint32_t> producers_;     // by value: node, kXnnNoValue
  std::vector<XnnNode> nodes_;
  std::vector<std::vector<uint32_t>> sources_;  // by node: debug handles
  std::vector<uint32_t> inputs_, outputs_;
  std::map<std::pair<const Constant*, XnnDatatype>, uint32_t> constant_ids_;
  std::map<std::pair<uint32_t, Permutation>, uint32_t> transposes_;
  uint32_t debug_handle_ = 0;
};

}  // namespace etb::xnnpack
