// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/official/write/region_writer.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "api/format/digest.hpp"
#include "api/format/hex.hpp"
#include "etb/cpp/bytes.hpp"
#include "plugins/gpu/compile/op.hpp"

namespace etb::gpu {

namespace {

// Limits of a tensor: the range of a buffer that every device has, and the size of a 3D texture in each dimension.
constexpr uint64_t kMostBytes = uint64_t{1} << 27;
constexpr uint32_t kMostTexels = 2048;

std::string quoted(const Value& value) { return "'" + std::string(value.name()) + "'"; }

Result<ElementType> element_type(const Value& value) {
  switch (value.spec().dtype) {
    case ETB_DTYPE_FLOAT32:
      return ElementType::kFloat32;
    case ETB_DTYPE_INT64:  // the official runtime converts arguments
    case ETB_DTYPE_INT32:
      return ElementType::kInt32;
    case ETB_DTYPE_BOOL:
      return ElementType::kBool;
    default:
      return reject("dtype", quoted(value) + ": " + dtype_text(static_cast<etb_dtype>(value.spec().dtype)) +
                                 ", official payloads are written for float32");
  }
}

Result<Shape> static_shape(const Value& value) {
  if (!value.is_tensor()) return reject("dtype", quoted(value) + ": no tensor");
  const etb_graph_spec spec = value.spec();
  if (spec.rank == 0) return reject("attribute", quoted(value) + ": no dimensions, expected one or more");
  if (spec.rank > kMaxRank)
    return reject("rank", quoted(value) + ": rank " + std::to_string(spec.rank) + ", expected at most " +
                              std::to_string(kMaxRank));
  if (spec.dynamic_dims != 0)
    return reject("dynamic", quoted(value) + ": dynamic sizes, official payloads are written for fixed ones");
  Shape shape;
  shape.rank = spec.rank;
  uint64_t nbytes = 4;
  for (uint32_t d = 0; d < spec.rank; ++d) {
    if (spec.sizes[d] <= 0) return reject("attribute", quoted(value) + ": no elements");
    if (static_cast<uint64_t>(spec.sizes[d]) > kMostBytes / nbytes)
      return reject("attribute", quoted(value) + ": more than " + std::to_string(kMostBytes) + " bytes");
    nbytes *= static_cast<uint64_t>(spec.sizes[d]);
    shape.sizes[d] = static_cast<uint32_t>(spec.sizes[d]);
  }
  return shape;
}

std::optional<etb_graph_constant> find_constant(const Graph& image, uint32_t value) {
  if (value >= image.input_count()) return std::nullopt;
  const etb_graph_input input = image.input(value);
  if (input.constant == graph::kNone || input.updated_by != graph::kNone) return std::nullopt;
  return etb_graph_get_constant(&image.view(), input.constant);
}

template <class T>
double read_as(std::span<const std::byte> bytes) {
  T number{};
  std::memcpy(&number, bytes.data(), sizeof number);
  return static_cast<double>(number);
}

// Numbers of int64 as int32, as the official exporter stores them.
Result<std::vector<std::byte>> narrowed(std::span<const std::byte> bytes) {
  std::vector<std::byte> out(bytes.size() / 2);
  for (size_t i = 0; i < bytes.size() / sizeof(int64_t); ++i) {
    int64_t wide = 0;
    std::memcpy(&wide, bytes.data() + i * sizeof wide, sizeof wide);
    if (wide < std::numeric_limits<int32_t>::min() || wide > std::numeric_limits<int32_t>::max())
      return make_error(Code::NOT_SUPPORTED, "a constant with integers beyond 32 bits");
    const auto narrow = static_cast<int32_t>(wide);
    std::memcpy(out.data() + i * sizeof narrow, &narrow, sizeof narrow);
  }
  return out;
}

}  // namespace

bool fits_texture(const Shape& shape) {
  if (shape.rank != 3 && shape.rank != 4) return false;
  const uint32_t* last = shape.sizes.data() + shape.rank - 1;
  const uint64_t images = shape.rank == 4 ? shape.sizes[0] : 1, channels = *(last - 2);
  return *last <= kMostTexels && *(last - 1) <= kMostTexels && (channels + 3) / 4 * images <= kMostTexels;
}

Shape flattened(const Shape& shape) {
  return {2, {shape.product(0, shape.rank - 1), shape.sizes[shape.rank - 1]}};
}

// ---- Tensors

uint32_t RegionWriter::add_tensor(WrittenTensor tensor) {
  tensors_.push_back(std::move(tensor));
  return static_cast<uint32_t>(tensors_.size() - 1);
}

Result<uint32_t> RegionWriter::enter(uint32_t value) {
  if (const auto found = by_value_.find(value); found != by_value_.end()) return found->second;
  const Value entered = image_.value(value);
  WrittenTensor made;
  ETB_ASSIGN(made.shape, static_shape(entered));
  ETB_ASSIGN(made.type, element_type(entered));
  made.name_count = 1;
  if (find_constant(image_, value)) made.constant_input = value;
  return by_value_[value] = add_tensor(std::move(made));
}

uint32_t RegionWriter::stored_constant(uint32_t id) {
  WrittenTensor& tensor = tensors_[id];
  if (tensor.stored == kNoValue)
    tensor.stored = file_.add_tensor({tensor.type, tensor.shape, kRowMajorBuffer, 0});
  return tensor.stored;
}

void RegionWriter::add_call(std::string op, std::vector<uint32_t> arguments) {
  const auto debug_id = static_cast<uint32_t>(file_.call_count());
  if (debug_handle_ != 0) handles_[debug_id] = {debug_handle_};
  file_.add_call({std::move(op), std::move(arguments), debug_id});
}

// The runtime loads constants of up to four dimensions.
void RegionWriter::load_flat(uint32_t id, uint32_t made) {
  const Shape shape = tensors_[id].shape, flat = flattened(shape);
  tensors_[id].shape = flat;
  const uint32_t stored = stored_constant(id), loaded = file_.add_tensor({tensors_[id].type, flat});
  tensors_[id].shape = shape;
  add_call("et_vk.prepack.default", {stored, loaded});
  std::vector<int64_t> sizes(shape.sizes.begin(), shape.sizes.begin() + shape.rank);
  add_call("aten.view_copy.default", {loaded, file_.add_integers(std::move(sizes)), made});
}

uint32_t RegionWriter::in_storage(uint32_t id, Storage storage) {
  for (const auto& [known, value] : tensors_[id].copies)
    if (known == storage) return value;
  const uint32_t made = file_.add_tensor({tensors_[id].type, tensors_[id].shape, storage});
  if (tensors_[id].is_constant() && tensors_[id].shape.rank > kMostOperandRank)
    load_flat(id, made);
  else if (tensors_[id].is_constant())
    add_call("et_vk.prepack.default", {stored_constant(id), made});
  else if (!tensors_[id].copies.empty())
    add_call("aten.clone.default", {tensors_[id].copies.front().second, file_.add_nothing(), made});
  tensors_[id].copies.emplace_back(storage, made);
  return made;
}

Result<std::span<const std::byte>> RegionWriter::bytes_of(const WrittenTensor& tensor,
                                                          std::optional<Payload>& owner) const {
  if (tensor.bytes) return std::span<const std::byte>(*tensor.bytes);
  const auto constant = find_constant(image_, tensor.constant_input);
  const auto nbytes = static_cast<size_t>(constant->nbytes);
  if (constant->data != nullptr) return std::span(static_cast<const std::byte*>(constant->data), nbytes);
  ETB_ASSIGN(owner, region_->read_constant(constant->key));
  if (owner->bytes().size() < nbytes)
    return make_error(Code::INVALID_DATA, "constant '" + std::string(constant->key) +
                                              "': " + std::to_string(owner->bytes().size()) +
                                              " bytes, expected " + std::to_string(nbytes));
  return owner->bytes().first(nbytes);
}

Result<std::vector<std::byte>> RegionWriter::copied_floats(uint32_t id) const {
  const WrittenTensor& tensor = tensors_[id];
  const size_t nbytes = tensor.shape.numel() * sizeof(float);
  if (region_ == nullptr && !tensor.bytes) return std::vector<std::byte>(nbytes);  // a claim: any numbers
  std::optional<Payload> owner;
  ETB_ASSIGN(const std::span<const std::byte> bytes, bytes_of(tensor, owner));
  if (bytes.size() != nbytes)
    return make_error(Code::INVALID_DATA, "a constant of " + std::to_string(bytes.size()) +
                                              " bytes, expected " + std::to_string(nbytes));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

Result<std::optional<double>> RegionWriter::number_of(uint32_t value) const {
  if (!image_.value(value).is_tensor() || !find_constant(image_, value)) return std::optional<double>();
  const etb_graph_spec spec = image_.value(value).spec();
  for (uint32_t d = 0; d < spec.rank; ++d)
    if (spec.sizes[d] != 1) return std::optional<double>();
  const bool is_number = spec.dtype == ETB_DTYPE_FLOAT32 || spec.dtype == ETB_DTYPE_FLOAT64 ||
                         spec.dtype == ETB_DTYPE_INT64 || spec.dtype == ETB_DTYPE_INT32;
  if (spec.rank > 1 || !is_number) return std::optional<double>();
  if (region_ == nullptr) return 1.0;  // a claim: any number
  WrittenTensor constant;
  constant.constant_input = value;
  std::optional<Payload> owner;
  ETB_ASSIGN(const std::span<const std::byte> bytes, bytes_of(constant, owner));
  if (bytes.size() != dtype_bits(static_cast<etb_dtype>(spec.dtype)) / 8)
    return make_error(Code::INVALID_DATA, "a constant without its element");
  if (spec.dtype == ETB_DTYPE_FLOAT64) return read_as<double>(bytes);
  if (spec.dtype == ETB_DTYPE_FLOAT32) return read_as<float>(bytes);
  return spec.dtype == ETB_DTYPE_INT64 ? read_as<int64_t>(bytes) : read_as<int32_t>(bytes);
}

// ---- The region

Status RegionWriter::add_inputs() {
  for (uint32_t i = 0; i < image_.input_count(); ++i) {
    if (find_constant(image_, i)) continue;
    ETB_ASSIGN(const uint32_t id, enter(i));
    inputs_.push_back(id);
  }
  return {};
}

Status RegionWriter::write(const Node& node) {
  const OpRow* row = detail::find_row(op_rows(), node.op_name());
  if (row == nullptr) return reject("op", std::string(node.op_name()) + ": not in the op table");
  if (const Claim claim = detail::check_row(node, *row); !claim.is_claimed)
    return reject(claim.reason, claim.text);
  const WrittenOp* op = find_written_op(node.op_name());
  if (op == nullptr)
    return reject("op", std::string(node.op_name()) + ": not written for the official Vulkan runtime");
  debug_handle_ = node.debug_handle();
  const size_t first_call = file_.call_count();
  NodeWriter writer(*this, node);
  ETB_TRY(op->write(writer));
  // A node without a call of its own is a part of the call that computes its result.
  if (debug_handle_ == 0 || file_.call_count() != first_call) return {};
  if (const auto found = by_value_.find(node.first_output()); found != by_value_.end())
    if (const auto& convolution = tensors_[found->second].convolution)
      handles_[file_.call(convolution->call).debug_id].push_back(debug_handle_);
  return {};
}

Status RegionWriter::add_outputs() {
  debug_handle_ = 0;
  for (uint32_t i = 0; i < image_.output_count(); ++i) {
    const Value value = image_.output(i);
    const auto found = by_value_.find(value.id());
    if (found == by_value_.end()) return reject("op", quoted(value) + ": an output that no node computes");
    const uint32_t id = found->second;
    const Storage storage = tensors_[id].copies.empty() ? kRowMajorBuffer : tensors_[id].copies.front().first;
    uint32_t made = in_storage(id, storage);
    const bool is_input = std::find(inputs_.begin(), inputs_.end(), id) != inputs_.end(),
               is_output = std::find(outputs_.begin(), outputs_.end(), made) != outputs_.end();
    if (is_input || is_output) {
      const uint32_t copy = file_.add_tensor({tensors_[id].type, tensors_[id].shape, storage});
      add_call("aten.clone.default", {made, file_.add_nothing(), copy});
      made = copy;
    }
    outputs_.push_back(made);
  }
  return {};
}

Result<Artifact> RegionWriter::finish() {
  Artifact artifact;
  artifact.format_version = 0;
  const std::vector<bool> is_used = file_.used_values();
  std::map<std::string, bool> named;
  for (WrittenTensor& tensor : tensors_) {
    if (tensor.stored == kNoValue || !is_used[tensor.stored]) continue;
    std::optional<Payload> owner;
    ETB_ASSIGN(std::span<const std::byte> bytes, bytes_of(tensor, owner));
    if (tensor.type == ElementType::kInt32 && bytes.size() == tensor.shape.numel() * sizeof(int64_t)) {
      ETB_ASSIGN(tensor.bytes, narrowed(bytes));
      bytes = *tensor.bytes;
    }
    const std::string key =
        format::to_hex(format::sha256({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}));
    file_.set_constant(tensor.stored, file_.add_constant(key, bytes.size()));
    if (!named.emplace(key, true).second) continue;
    Artifact::NamedBlob blob{.key = key, .alignment = 16};
    if (tensor.bytes)
      blob.value = std::move(*tensor.bytes);
    else
      blob.constant_key = find_constant(image_, tensor.constant_input)->key;
    artifact.named_blobs.push_back(std::move(blob));
  }
  std::vector<uint32_t> inputs, kept = outputs_;
  for (const uint32_t id : inputs_)
    inputs.push_back(tensors_[id].copies.empty() ? in_storage(id, kRowMajorBuffer)
                                                 : tensors_[id].copies.front().second);
  kept.insert(kept.end(), inputs.begin(), inputs.end());
  file_.share_memory(kept);
  artifact.payload = file_.finish(inputs, outputs_);
  std::vector<uint32_t> all;
  for (const auto& [debug_id, handles] : handles_) {
    artifact.debug_map.push_back({.name = {}, .debug_id = debug_id, .handles = handles});
    all.insert(all.end(), handles.begin(), handles.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (!all.empty()) artifact.debug_map.push_back({.name = kRunEvent, .handles = std::move(all)});
  return artifact;
}

// ---- Whole graphs

namespace {

Claim claim_one(const Graph& graph, const GraphFacts& facts, const Node& node) {
  RegionWriter writer(graph, facts, nullptr);
  const Status written = writer.write(node);
  return written ? Claim::yes() : to_claim(written.error());
}

}  // namespace

Status claim_official_nodes(const Graph& graph, const PartitionSink& sink) {
  const GraphFacts facts(graph);
  for (uint32_t i = 0; i < graph.node_count(); ++i) {
    const Node node = graph.node(i);
    const uint32_t id = node.id();
    const Claim claim = claim_one(graph, facts, node);
    ETB_TRY(claim.is_claimed ? sink.claim({&id, 1}, claim) : sink.reject({&id, 1}, claim));
  }
  return {};
}

Result<Artifact> compile_official_region(const Region& region) {
  const Graph& graph = region.graph();
  const GraphFacts facts(graph);
  RegionWriter writer(graph, facts, &region);
  ETB_TRY(writer.add_inputs());
  for (uint32_t i = 0; i < graph.node_count(); ++i) {
    const Node node = graph.node(i);
    if (node.gives_numbers()) continue;
    if (Status written = writer.write(node); !written)
      return tl::make_unexpected(
          with_context(std::move(written).error(),
                       "node " + std::to_string(node.id()) + " (" + std::string(node.op_name()) + ")"));
  }
  ETB_TRY(writer.add_outputs());
  return writer.finish();
}

}  // namespace etb::gpu
