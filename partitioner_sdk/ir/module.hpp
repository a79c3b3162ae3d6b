// SPDX-License-Identifier: Apache-2.0
// The compiler's graph. A module holds a method and the subgraphs of its control flow. Nodes are in execution
// order and use and define values in SSA form.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "api/ops/custom_ops.hpp"
#include "partitioner_sdk/ir/symbols.hpp"
#include "partitioner_sdk/ir/tensor_spec.hpp"

namespace etb::ir {

// Index of a value in its graph. Indices are not reused.
using ValueId = uint32_t;
inline constexpr ValueId kNoValue = UINT32_MAX;
inline constexpr uint32_t kNone = UINT32_MAX;  // an absent index

// ---- Arguments of nodes. The kind of a number decides type promotion, so an int stays an int.

struct Nothing {
  friend bool operator==(Nothing, Nothing) { return true; }
};
struct ValueRef {
  ValueId id = kNoValue;
  friend bool operator==(ValueRef, ValueRef) = default;
};
// kNoValue means "none" in a list of optional tensors.
struct ValueList {
  std::vector<ValueId> ids;
  friend bool operator==(const ValueList&, const ValueList&) = default;
};
enum class Layout : uint8_t { kStrided = 0 };
// Codes as in PyTorch.
enum class MemoryFormat : uint8_t { kContiguous = 0, kPreserve = 1, kChannelsLast = 2, kChannelsLast3d = 3 };
struct Device {
  std::string name;
  friend bool operator==(const Device&, const Device&) = default;
};
struct GraphRef {
  uint32_t index = 0;  // index into Module::graphs
  friend bool operator==(GraphRef, GraphRef) = default;
};
// A Python complex number.
struct Complex {
  double real = 0;
  double imaginary = 0;
  friend bool operator==(Complex, Complex) = default;
};
using FloatList = std::vector<double>;
using BoolList = std::vector<bool>;
struct StringList {
  std::vector<std::string> items;
  friend bool operator==(const StringList&, const StringList&) = default;
};

using Argument = std::variant<Nothing, ValueRef, ValueList, Dim, double, bool, std::string, Dtype, Layout,
                              MemoryFormat, Device, Dims, FloatList, BoolList, StringList, GraphRef, Complex>;

template <class T>
const T* get_if(const Argument& argument) {
  return std::get_if<T>(&argument);
}

// ---- Ops.

// An op as this module uses it. Ops of namespace higher_order have no schema.
struct Op {
  std::string name;  // "aten.add.Tensor"
  const ops::Schema* schema = nullptr;
  std::vector<Argument> defaults;  // by position; Nothing if there is none
};
using OpId = uint32_t;

// ---- Graphs.

enum class ValueKind : uint8_t { kTensor, kInt, kFloat, kBool };

struct Value {
  std::string name;  // as in the user's program, "" if a pass created it
  ValueKind kind = ValueKind::kTensor;
  TensorSpec spec;  // kTensor
  Dim dim;          // kInt: its value
};

struct Source {
  std::string file;
  uint32_t line = 0;
  std::string function;
  std::string module_path;  // "layer1.0.conv"
  std::string module_type;  // "torch.nn.modules.conv.Conv2d"
  friend bool operator==(const Source&, const Source&) = default;
  friend auto operator<=>(const Source&, const Source&) = default;
};

// Arguments are complete and in schema order; those of higher-order ops are as the exporter wrote them.
struct Node {
  OpId op = 0;
  std::vector<Argument> args;
  std::vector<ValueId> outputs;
  uint32_t source = kNone;    // index into Module::sources
  uint32_t debug_handle = 0;  // identifies the user's node across transformations; 0: none
};

enum class InputKind : uint8_t { kUser, kParameter, kBuffer, kConstant, kToken };

struct Input {
  ValueId value = kNoValue;
  InputKind kind = InputKind::kUser;
  std::string target;         // dotted name of a parameter, buffer or constant
  uint32_t constant = kNone;  // index into Module::constants: its data, for a buffer the initial value
};

enum class OutputKind : uint8_t { kUser, kBufferMutation, kInputMutation, kToken };

// A user output may be a literal or Nothing.
struct Output {
  Argument value;
  OutputKind kind = OutputKind::kUser;
  std::string target;  // name of the buffer or input that gets this value
};

// The outputs of a method that computes a loss and gradients (torch.export's joint graph), in order: loss and
// other results, gradients, then the parameters that have gradients. An optimizer of the application writes to
// the parameters, which are state.
struct TrainingOutputs {
  uint32_t first_gradient = 0;  // index of the first gradient of a parameter
  uint32_t first_parameter = 0;
  std::vector<std::string> parameters;  // dotted names, in the order of their gradients
};

struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Input> inputs;
  std::vector<Node> nodes;
  std::vector<Output> outputs;

  ValueId add_value(Value value) {
    values.push_back(std::move(value));
    return static_cast<ValueId>(values.size() - 1);
  }
};

// A tensor known ahead of time: a strided view of bytes that belong to an archive or to `owner`.
struct Constant {
  std::string name;
  Dtype dtype = Dtype::FLOAT32;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t offset = 0;  // in elements
  std::span<const std::byte> storage;
  std::shared_ptr<const void> owner;  // keeps the storage alive

  uint64_t numel() const;
  // True if the elements are row-major and dense, so that they can be used in place.
  bool is_contiguous() const;
  // Returns the bytes of a contiguous constant.
  std::span<const std::byte> bytes() const;
  uint64_t nbytes() const { return numel() * ops::element_nbytes(dtype); }
  // Returns the elements in row-major order.
  std::vector<std::byte> dense_bytes() const;
  // As dense_bytes(), in pieces, so that no second copy of a large constant is held. Stops at the first error
  // of `take`.
  [[nodiscard]] Status give_row_major(
      const std::function<Status(std::span<const std::byte> bytes)>& take) const;
};

// Bytes that live as long as their owner.
struct OwnedBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  friend bool operator==(const OwnedBytes& a, const OwnedBytes& b) {
    return std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end());
  }
};

// An open, mapped file. Bytes inside it can be copied by the system.
struct FileBytes {
  std::span<const std::byte> bytes;
  int descriptor = -1;
  std::shared_ptr<const void> owner;  // keeps both
};

// An argument of the user's function that the exporter fixed: a number, bool, text or None. Nodes contain its value
// already; it stays an input of the method so that callers pass all arguments.
struct FixedInput {
  uint32_t position = 0;  // among the method's inputs
  Argument value;
};

class Module {
 public:
  Module() = default;
  Module(Module&&) = default;
  Module& operator=(Module&&) = default;
  Module(const Module&) = delete;  // op_ids_ points into ops_
  Module& operator=(const Module&) = delete;

  std::string name = "forward";
  // Nesting of inputs and outputs in the user's Python (pytree text). Compilation does not need it.
  std::string input_tree;
  std::string output_tree;
  std::vector<FixedInput> fixed_inputs;  // by position
  std::optional<TrainingOutputs> training;  // none for a method without gradients
  SymbolTable symbols;
  std::deque<Graph> graphs;  // 0 is the method; a subgraph comes after the graph that uses it
  std::vector<Constant> constants;
  std::vector<FileBytes> files;  // files with constants
  std::vector<Source> sources;
  std::shared_ptr<const ops::CustomOps> custom_ops;  // ops outside the tables; may be null

  Graph& main() { return graphs.front(); }
  const Graph& main() const { return graphs.front(); }

  // Returns the signature in the tables or in custom_ops, null if there is none.
  const ops::Schema* find_schema(std::string_view op_name) const;
  // Returns the op called `name`, adding it on first use. Its schema is null if find_schema's is.
  OpId op(std::string_view name);
  const Op& op(OpId id) const { return ops_[id]; }
  const Op& op(const Node& node) const { return ops_[node.op]; }
  uint32_t op_count() const { return static_cast<uint32_t>(ops_.size()); }
  // Returns the op if a node may use it; nullopt lets passes skip ops that do not occur.
  std::optional<OpId> find_op(std::string_view name) const;

  uint32_t add_source(Source source);
  // Adds a dense constant, which keeps its bytes.
  uint32_t add_constant(std::string constant_name, Dtype dtype, std::vector<int64_t> sizes, OwnedBytes data);
  uint32_t add_constant(std::string constant_name, Dtype dtype, std::vector<int64_t> sizes,
                        std::vector<std::byte> data);

 private:
  std::deque<Op> ops_;
  std::unordered_map<std::string_view, OpId> op_ids_;  // keys are ops_[i].name
  std::map<Source, uint32_t> source_ids_;
};

// Calls visit(ValueId&) for every value that an argument names.
template <class Visit>
void for_each_value(Argument& argument, Visit visit) {
  if (auto* one = std::get_if<ValueRef>(&argument)) {
    visit(one->id);
  } else if (auto* many = std::get_if<ValueList>(&argument)) {
    for (ValueId& id : many->ids) {
      if (id != kNoValue) visit(id);
    }
  }
}
template <class Visit>
void for_each_value(const Argument& argument, Visit visit) {
  for_each_value(const_cast<Argument&>(argument), [&](ValueId& id) { visit(static_cast<ValueId>(id)); });
}

// Parses the notation of a schema's default: none, true, 1, 0.5, "text", [0, 1].
Argument parse_default(const ops::Argument& argument);

// Returns "tensor", "list of tensors", "int", ... for messages.
std::string_view kind_name(const Argument& argument);

// Returns "model.py:12 in forward", or "" without source.
std::string format_source(const Module& module, uint32_t source);

}  // namespace etb::ir
