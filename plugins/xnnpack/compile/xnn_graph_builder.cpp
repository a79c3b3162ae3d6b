// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/compile/xnn_graph_builder.hpp"

#include <algorithm>
#include <bit>

#include "api/format/content_name.hpp"
#include "plugins/xnnpack/compile/reject.hpp"
#include "plugins/xnnpack/operator_events.hpp"
#include "plugins/xnnpack/payload/shapes.hpp"
#include "plugins/xnnpack/payload/writer.hpp"

namespace etb::xnnpack {

namespace {

// Returns the constant as named data. Runtimes share packed weights between programs by name, so names
// identify the bytes.
Result<Artifact::NamedBlob> make_blob(const Constant& constant) {
  Artifact::NamedBlob blob;
  blob.alignment = 16;
  ETB_ASSIGN(Bytes bytes, constant.read());
  blob.key = format::content_name(bytes.span());
  if (constant.image_key.empty()) {
    blob.value = std::move(bytes).take();
  } else {
    blob.constant_key = constant.image_key;
  }
  return blob;
}

Artifact::NamedBlob make_blob(const std::vector<uint16_t>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  Artifact::NamedBlob blob;
  blob.alignment = 16;
  blob.key = format::content_name(bytes);
  blob.value.assign(bytes.begin(), bytes.end());
  return blob;
}

// True if the dimensions other than 1 keep their order.
bool moves_only_units(const std::vector<uint32_t>& sizes, uint32_t dynamic_dims, const Permutation& order) {
  uint32_t last = 0;
  for (const uint32_t dim : order) {
    if (sizes[dim] == 1 && (dynamic_dims >> dim & 1) == 0) continue;
    if (dim < last) return false;
    last = dim;
  }
  return true;
}

}  // namespace

Permutation identity(size_t rank) {
  Permutation perm(rank);
  for (size_t i = 0; i < rank; ++i) perm[i] = static_cast<uint32_t>(i);
  return perm;
}

bool is_identity(const Permutation& perm) { return perm == identity(perm.size()); }

Permutation order_between(const Permutation& from, const Permutation& to) {
  Permutation order(to.size());
  for (size_t i = 0; i < to.size(); ++i) order[to[i]] = from[i];
  return order;
}

Extents arrange(const Extents& extents, const Permutation& perm) {
  Extents out{std::vector<uint32_t>(perm.size()), 0};
  for (size_t i = 0; i < perm.size(); ++i) {
    out.sizes[perm[i]] = extents.sizes[i];
    out.dynamic_dims |= uint32_t{extents.is_dynamic(i)} << perm[i];
  }
  return out;
}

etb_dtype to_dtype(XnnDatatype datatype) {
  return datatype == XnnDatatype::kFloat16 ? ETB_DTYPE_FLOAT16 : ETB_DTYPE_FLOAT32;
}

Result<XnnDatatype> datatype_of(etb_dtype dtype) {
  switch (dtype) {
    case ETB_DTYPE_FLOAT32:
      return XnnDatatype::kFloat32;
    case ETB_DTYPE_FLOAT16:
      return XnnDatatype::kFloat16;
    default:
      return reject("dtype", dtype_text(dtype), ", expected float32 or float16");
  }
}

uint32_t XnnGraphBuilder::add_value(XnnDatatype datatype, Extents extents) {
  XnnValue value;
  value.id = static_cast<uint32_t>(values_.size());
  value.datatype = datatype;
  value.sizes = std::move(extents.sizes);
  values_.push_back(std::move(value));
  dynamic_dims_.push_back(extents.dynamic_dims);
  constants_.emplace_back();
  producers_.push_back(kXnnNoValue);
  return values_.back().id;
}

void XnnGraphBuilder::copy_scale(uint32_t from, uint32_t to) {
  const XnnValue& like = values_[from];
  if (like.quantisation != XnnQuantisation::kPerTensor) return;
  values_[to].quantisation = like.quantisation;
  values_[to].scale = like.scale;
  values_[to].zero_point = like.zero_point;
}

uint32_t XnnGraphBuilder::add_like(uint32_t id, Extents extents) {
  const uint32_t made = add_value(values_[id].datatype, std::move(extents));
  copy_scale(id, made);
  return made;
}

uint32_t XnnGraphBuilder::add_constant(const ConstantPtr& constant, XnnDatatype datatype) {
  const auto known = constant_ids_.find({constant.get(), datatype});
  if (known != constant_ids_.end()) return known->second;
  const uint32_t id = add_value(datatype, {{constant->sizes.begin(), constant->sizes.end()}});
  constants_[id] = constant;
  constant_ids_[{constant.get(), datatype}] = id;
  return id;
}

uint32_t XnnGraphBuilder::add_floats(std::vector<int64_t> sizes, std::vector<float> values, uint32_t like) {
  return add_constant(make_floats(std::move(sizes), std::move(values), dtype(like)),
                      *datatype_of(dtype(like)));
}

uint32_t XnnGraphBuilder::add_input(XnnDatatype datatype, Extents extents) {
  const uint32_t id = add_value(datatype, std::move(extents));
  values_[id].is_input = true;
  inputs_.push_back(id);
  return id;
}

void XnnGraphBuilder::add_output(uint32_t id) {
  if (producers_[id] == kXnnNoValue || values_[id].is_output) {
    const uint32_t copy = add_like(id, extents(id));
    add_node(XnnOperator::kCopy, {id}, {copy});
    id = copy;
  }
  values_[id].is_output = true;
  outputs_.push_back(id);
}

XnnNode& XnnGraphBuilder::add_node(XnnOperator op, const std::vector<uint32_t>& inputs,
                                   const std::vector<uint32_t>& outputs) {
  XnnNode& node = nodes_.emplace_back();
  node.op = op;
  node.debug_handle = debug_handle_;
  sources_.push_back({debug_handle_});
  for (const uint32_t id : inputs) node.inputs[node.input_count++] = id;
  for (const uint32_t id : outputs) {
    node.outputs[node.output_count++] = id;
    producers_[id] = static_cast<uint32_t>(nodes_.size() - 1);
    for (const uint32_t handle : joined_) add_source(id, handle);
  }
  return node;
}

void XnnGraphBuilder::add_source(uint32_t id, uint32_t debug_handle) {
  if (producers_[id] == kXnnNoValue) return;
  auto& sources = sources_[producers_[id]];
  if (std::find(sources.begin(), sources.end(), debug_handle) == sources.end())
    sources.push_back(debug_handle);
}

XnnNode* XnnGraphBuilder::producer(uint32_t id) {
  return producers_[id] == kXnnNoValue ? nullptr : &nodes_[producers_[id]];
}

uint32_t XnnGraphBuilder::add_transpose(uint32_t id, const Permutation& order) {
  if (is_identity(order)) return id;
  if (const auto known = transposes_.find({id, order}); known != transposes_.end()) return known->second;
  Extents made;
  for (size_t d = 0; d < order.size(); ++d) {
    made.sizes.push_back(values_[id].sizes[order[d]]);
    made.dynamic_dims |= (dynamic_dims_[id] >> order[d] & 1) << d;
  }
  uint32_t out = kXnnNoValue;
  if (constants_[id]) {
    out = add_constant(transposed(constants_[id], order), values_[id].datatype);
    copy_scale(id, out);
  } else if (moves_only_units(values_[id].sizes, dynamic_dims_[id], order) &&
             std::popcount(made.dynamic_dims) <= 1) {
    out = *add_reshape(id, std::move(made));
  } else {
    out = add_like(id, std::move(made));
    add_node(XnnOperator::kStaticTranspose, {id}, {out}).first = order;
  }
  transposes_[{id, order}] = out;
  return out;
}

uint32_t XnnGraphBuilder::add_runtime_quantised(uint32_t id, uint32_t nonbatch_dim_count) {
  const auto [known, is_new] = runtime_quantised_.emplace(std::pair(id, nonbatch_dim_count), 0);
  if (!is_new) return known->second;
  const uint32_t made = add_value(XnnDatatype::kQdint8, extents(id));
  values_[made].quantisation = XnnQuantisation::kPerToken;
  values_[made].nonbatch_dim_count = nonbatch_dim_count;
  add_node(XnnOperator::kConvert, {id}, {made});
  return known->second = made;
}

// Collapses chains of reshapes: reshape(reshape(x)) reads x, and a reshape back to the sizes of x is x. Returns x, and
// adds the debug handles of the skipped nodes to `sources`. They are dropped if nothing else reads them.
uint32_t XnnGraphBuilder::skip_reshapes(uint32_t id, const Extents& to,
                                        std::vector<uint32_t>& sources) const {
  while (producers_[id] != kXnnNoValue && nodes_[producers_[id]].op == XnnOperator::kStaticReshape) {
    const uint32_t reshape = producers_[id];
    sources.insert(sources.end(), sources_[reshape].begin(), sources_[reshape].end());
    id = nodes_[reshape].inputs[0];
    if (this->extents(id) == to) break;
  }
  return id;
}

Result<uint32_t> XnnGraphBuilder::add_reshape(uint32_t id, Extents extents) {
  if (extents == this->extents(id)) return id;
  if (constants_[id]) {
    const uint32_t out = add_constant(reshaped(constants_[id], {extents.sizes.begin(), extents.sizes.end()}),
                                      values_[id].datatype);
    copy_scale(id, out);
    return out;
  }
  if (std::popcount(extents.dynamic_dims) > 1) {
    return reject("dynamic", "reshape to sizes of which more than one is dynamic");
  }
  std::vector<uint32_t> sources;
  const uint32_t from = skip_reshapes(id, extents, sources);
  uint32_t out = from;
  if (extents != this->extents(from)) {
    std::vector<uint32_t> sizes = extents.sizes;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if ((extents.dynamic_dims >> d & 1) != 0) sizes[d] = 0;  // 0: inferred from the other sizes
    }
    out = add_like(from, std::move(extents));
    add_node(XnnOperator::kStaticReshape, {from}, {out}).first = std::move(sizes);
  }
  for (const uint32_t source : sources) add_source(out, source);
  return out;
}

// Drops the nodes whose results nothing needs. Marks the values that are used.
void XnnGraphBuilder::drop_unused_nodes(std::vector<bool>& is_used) {
  std::vector<XnnNode> kept;
  std::vector<std::vector<uint32_t>> kept_sources;
  for (size_t i = nodes_.size(); i-- > 0;) {
    const XnnNode& node = nodes_[i];
    bool is_needed = false;
    for (uint32_t o = 0; o < node.output_count; ++o) is_needed = is_needed || is_used[node.outputs[o]];
    if (!is_needed) continue;
    for (uint32_t n = 0; n < node.input_count; ++n) {
      if (node.inputs[n] != kXnnNoValue) is_used[node.inputs[n]] = true;
    }
    kept.push_back(node);
    kept_sources.push_back(std::move(sources_[i]));
  }
  std::reverse(kept.begin(), kept.end());
  std::reverse(kept_sources.begin(), kept_sources.end());
  nodes_ = std::move(kept);
  sources_ = std::move(kept_sources);
}

void XnnGraphBuilder::renumber(const std::vector<uint32_t>& id_of) {
  const auto change = [&](uint32_t& id) {
    if (id != kXnnNoValue) id = id_of[id];
  };
  for (XnnNode& node : nodes_) {
    for (uint32_t n = 0; n < node.input_count; ++n) change(node.inputs[n]);
    for (uint32_t o = 0; o < node.output_count; ++o) change(node.outputs[o]);
  }
  for (uint32_t& id : inputs_) change(id);
  for (uint32_t& id : outputs_) change(id);
}

// Drops unused nodes and values, and numbers the others from 0.
void XnnGraphBuilder::drop_unused() {
  std::vector<bool> is_used(values_.size(), false);
  for (const uint32_t id : inputs_) is_used[id] = true;
  for (const uint32_t id : outputs_) is_used[id] = true;
  drop_unused_nodes(is_used);
  std::vector<uint32_t> id_of(values_.size(), kXnnNoValue);
  std::vector<XnnValue> values;
  std::vector<ConstantPtr> constants;
  for (const XnnValue& value : values_) {
    if (!is_used[value.id]) continue;
    id_of[value.id] = static_cast<uint32_t>(values.size());
    constants.push_back(constants_[value.id]);
    values.push_back(value);
    values.back().id = id_of[value.id];
  }
  values_ = std::move(values);
  constants_ = std::move(constants);
  renumber(id_of);
}

Status XnnGraphBuilder::check_sizes(std::vector<uint32_t> results) {
  outputs_ = std::move(results);
  drop_unused();
  XnnPayload payload;
  payload.values = values_;
  payload.nodes = nodes_;
  payload.input_ids = inputs_;
  payload.value_of_id = identity(values_.size());
  if (const auto shapes = infer_xnnpack_shapes(payload, {}); !shapes)
    return reject("attribute", shapes.error().message);
  return {};
}

Result<Artifact> XnnGraphBuilder::finish() {
  drop_unused();
  Artifact artifact;
  XnnPayload payload;
  payload.constants.emplace_back();
  std::map<std::string, uint32_t> index_of_key;
  const auto add_blob = [&](Artifact::NamedBlob blob) -> uint32_t {
    const auto [at, is_new] = index_of_key.emplace(blob.key, static_cast<uint32_t>(payload.constants.size()));
    if (is_new) {
      payload.constants.push_back({blob.key, {}});
      artifact.named_blobs.push_back(std::move(blob));
    }
    return at->second;
  };
  for (XnnValue& value : values_) {
    if (!constants_[value.id]) continue;
    ETB_ASSIGN(Artifact::NamedBlob blob, make_blob(*constants_[value.id]));
    value.constant_index = add_blob(std::move(blob));
    if (value.scales_bf16.empty()) continue;
    // The official runtime reads scales of groups from named data only.
    value.scale_count = static_cast<uint32_t>(value.scales_bf16.size());
    value.scale_constant_index = add_blob(make_blob(value.scales_bf16));
    value.scales_bf16.clear();
  }
  for (uint32_t i = 0; i < inputs_.size(); ++i) values_[inputs_[i]].external_id = i;
  for (uint32_t i = 0; i < outputs_.size(); ++i)
    values_[outputs_[i]].external_id = static_cast<uint32_t>(inputs_.size()) + i;
  payload.values = values_;
  payload.nodes = nodes_;
  payload.input_ids = inputs_;
  payload.output_ids = outputs_;
  for (size_t i = 0; i < nodes_.size(); ++i)
    artifact.debug_map.push_back({.name = event_name(nodes_[i], i), .handles = sources_[i]});
  artifact.payload = write_xnnpack_payload(payload);
  // Checks that our own delegate accepts the payload.
  if (const auto read = read_xnnpack_payload(artifact.payload); !read)
    return reject("attribute", "no payload can have it: ", read.error().message);
  return artifact;
}

}  // namespace etb::xnnpack
