// SPDX-License-Identifier: Apache-2.0
// RegionWriter: writes the nodes of a region as calls of the official runtime's operators. NodeWriter: what the function of
// an op (official/write/ops/) reads of its node and adds.
#pragma once

#include <map>
#include <optional>
#include <span>

#include "plugins/gpu/compile/lowering_context.hpp"
#include "plugins/gpu/official/write/file_builder.hpp"

namespace etb::gpu {

// A call that computes a convolution, whose weights and limits a later node may change.
struct WrittenConvolution {
  size_t call = 0;                              // position
  uint32_t weight = kNoValue, bias = kNoValue;  // tensors
  uint32_t groups = 1;
  bool is_transposed = false, is_clamped = false;
};

// A tensor of the region, in each storage in which calls read it.
struct WrittenTensor {
  ElementType type = ElementType::kFloat32;
  Shape shape = {};
  std::vector<std::pair<Storage, uint32_t>> copies = {};  // values of the file; the first is the original
  uint32_t constant_input = graph::kNone;                 // input of the image whose bytes it has
  std::optional<std::vector<std::byte>> bytes = {};       // a constant that the writer computed
  uint32_t stored = kNoValue;                             // value of the file with the constant's bytes
  std::optional<WrittenConvolution> convolution = {};     // the call that computes it
  uint32_t name_count = 0;                                // values of the image that it is

  bool is_constant() const { return constant_input != graph::kNone || bytes.has_value(); }
};

class RegionWriter {
 public:
  // Without a region (claims), constants have no bytes.
  RegionWriter(const Graph& image, const GraphFacts& facts, const Region* region)
      : image_(image), facts_(facts), region_(region) {}

  [[nodiscard]] Status add_inputs();
  [[nodiscard]] Status write(const Node& node);
  [[nodiscard]] Status add_outputs();
  [[nodiscard]] Result<Artifact> finish();

 private:
  friend class NodeWriter;

  // Returns the tensor of a value of the image. Adds inputs and constants at their first use; for a claim any value.
  Result<uint32_t> enter(uint32_t value);
  uint32_t add_tensor(WrittenTensor tensor);
  // Returns the value of the file that has the tensor in this storage: adds a call that copies, or that loads a constant.
  uint32_t in_storage(uint32_t tensor, Storage storage);
  uint32_t stored_constant(uint32_t tensor);
  void load_flat(uint32_t tensor, uint32_t made);
  void add_call(std::string op, std::vector<uint32_t> arguments);
  Result<std::span<const std::byte>> bytes_of(const WrittenTensor& tensor,
                                              std::optional<Payload>& owner) const;
  Result<std::vector<std::byte>> copied_floats(uint32_t tensor) const;
  // Returns the only element of a constant of any dtype of numbers, or none.
  Result<std::optional<double>> number_of(uint32_t value) const;

  const Graph& image_;
  const GraphFacts& facts_;
  const Region* region_;
  FileBuilder file_;
  std::vector<WrittenTensor> tensors_;
  std::map<uint32_t, uint32_t> by_value_;  // by value of the image: tensor
  std::vector<uint32_t> inputs_, outputs_;
  std::map<uint32_t, std::vector<uint32_t>> handles_;  // by debug id of a call: debug handles of nodes
  uint32_t debug_handle_ = 0;                          // of the node that is being written
};

class NodeWriter {
 public:
  NodeWriter(RegionWriter& region, const Node& node) : region_(region), node_(node), args_(node) {}

  const Arguments& args() const { return args_; }
  const Node& node() const { return node_; }
  Result<Shape> result_shape(uint32_t index = 0) const;
  uint32_t result_count() const { return node_.output_count(); }
  bool is_result_read(uint32_t index) const;

  // Operands are tensors, numbered by the region.
  Result<uint32_t> operand(const char* name);
  Result<uint32_t> floats(const char* name);    // rejects other dtypes
  Result<uint32_t> bools(const char* name);     // likewise
  Result<uint32_t> integers(const char* name);  // likewise
  Result<uint32_t> integers(uint32_t value);    // likewise, a value of the image
  Result<std::vector<uint32_t>> list(const char* name);
  // A tensor, or a number as a constant of one element.
  Result<uint32_t> floats_or_number(const char* name);
  const WrittenTensor& tensor(uint32_t id) const { return region_.tensors_[id]; }
  const Shape& shape(uint32_t id) const { return tensor(id).shape; }
  bool is_constant(uint32_t id) const { return tensor(id).is_constant(); }
  Result<std::vector<float>> constant_floats(uint32_t id) const;
  uint32_t add_constant(const std::vector<float>& floats, const Shape& shape);
  // Adds a constant with the sizes and numbers of another one, changed: `change` gets them as its argument.
  template <class Change>
  Result<uint32_t> add_changed_constant(uint32_t id, const Change& change) {
    WrittenTensor made;
    made.shape = shape(id);
    ETB_ASSIGN(made.bytes, region_.copied_floats(id));
    // Weights are most of a program: they are changed where they are, without another copy.
    change(std::span(reinterpret_cast<float*>(made.bytes->data()), made.bytes->size() / sizeof(float)));
    return region_.add_tensor(std::move(made));
  }
  uint32_t add_number(double number, uint32_t rank = 1);
  uint32_t add_indices(const std::vector<int32_t>& indices);
  // A constant as another one of the same elements.
  uint32_t reshaped_constant(uint32_t id, const Shape& shape);
  // Returns the convolution that computes an operand, if this node alone reads it: the node may become a part of it.
  std::optional<WrittenConvolution> own_convolution(const char* name) const;

  // Values of the file, for arguments of calls.
  uint32_t in(uint32_t id, Storage storage = kRowMajorBuffer) { return region_.in_storage(id, storage); }
  uint32_t stored(uint32_t id) { return region_.stored_constant(id); }  // for operators that load constants
  FileBuilder& file() { return region_.file_; }
  uint32_t nothing() { return file().add_nothing(); }

  // Adds a call and returns its result, a new tensor. `arguments` lack the result.
  uint32_t call(const char* op, std::vector<uint32_t> arguments, const Shape& shape,
                Storage storage = kRowMajorBuffer, ElementType type = ElementType::kFloat32);
  // Likewise for several results, which the call has as one list.
  std::vector<uint32_t> call_list(const char* op, std::vector<uint32_t> arguments,
                                  const std::vector<Shape>& shapes, ElementType type = ElementType::kFloat32);
  uint32_t view(uint32_t id, const Shape& shape);

  // Makes a tensor a result of the node. Its sizes and type must be those of the graph.
  Status define(uint32_t id, uint32_t index = 0);

  // The storage in which functions of single elements compute: that of the operand.
  Storage storage_of(uint32_t id) const;
  void set_convolution(uint32_t id, WrittenConvolution convolution);
  // Changes the convolution that computes an operand, of which this node becomes a part. Returns the operand.
  uint32_t set_weights(const char* name, uint32_t weight, uint32_t bias);
  uint32_t set_limits(const char* name, double low, double high);

 private:
  Result<uint32_t> of_type(const char* name, ElementType type);
  WrittenTensor& taken_over(const char* name);

  RegionWriter& region_;
  const Node& node_;
  Arguments args_;
};

// Most dimensions of a tensor that the official runtime loads, or that its functions of one operand take.
inline constexpr uint32_t kMostOperandRank = 4;
// The same elements as a matrix, with the last dimension.
Shape flattened(const Shape& shape);
// True if a device with 3D textures of the size that Vulkan demands of most desktop devices has room for it.
bool fits_texture(const Shape& shape);

// An op that can be written: `write` adds the calls, or rejects the node with a reason.
struct WrittenOp {
  const char* name;
  Status (*write)(NodeWriter&);
};
using WrittenOpList = std::span<const WrittenOp>;
const WrittenOp* find_written_op(std::string_view name);

}  // namespace etb::gpu
