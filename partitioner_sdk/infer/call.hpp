// SPDX-License-Identifier: Apache-2.0
// The call of an op. Rules and decompositions read its arguments by name, through a view made from the op's schema:
//
//   Specs convolution(const ops::convolution_default<Call>& call) { ... call.stride().dims() ... }
//
// Accessors never fail: they record an argument of another kind, and the caller checks error() once at the end.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::infer {

struct CallState {
  ir::Module& module;
  const ir::Graph& graph;
  ir::OpId op;
  std::span<const ir::Argument> args;
  std::string error;  // the first failure

  CallState(ir::Module& m, const ir::Graph& g, ir::OpId id, std::span<const ir::Argument> a)
      : module(m), graph(g), op(id), args(a) {}
  void fail(std::string why) {
    if (error.empty()) error = std::move(why);
  }
};

// One argument of a call. Converts to the argument itself, so that a decomposition can pass it to another op
// unchanged.
class AnyArgument {
 public:
  AnyArgument(CallState& state, size_t index) : state_(&state), index_(index) {}

  const ir::Argument& get() const;
  operator const ir::Argument&() const { return get(); }  // NOLINT(google-explicit-constructor): see above
  // False for none, and past the end of the arguments.
  bool has_value() const { return ir::get_if<ir::Nothing>(get()) == nullptr; }
  const ir::TensorSpec* find_tensor() const;  // null when the argument is something else

 protected:
  void fail_kind(const char* found) const;
  int64_t known(ir::Dim dim) const;
  ir::Dim read_dim() const;

  CallState* state_;
  size_t index_;
};

class TensorArgument : public AnyArgument {
 public:
  using AnyArgument::AnyArgument;
  const ir::TensorSpec& spec() const;
  ir::ValueId id() const;
  operator ir::ValueId() const { return id(); }  // NOLINT(google-explicit-constructor): a tensor is its value
};

class TensorListArgument : public AnyArgument {
 public:
  using AnyArgument::AnyArgument;
  std::vector<const ir::TensorSpec*> specs() const;  // null for an item that is none
  std::vector<ir::ValueId> ids() const;
};

class IntArgument : public AnyArgument {
 public:
  using AnyArgument::AnyArgument;
  ir::Dim dim() const { return read_dim(); }
  int64_t integer() const;  // a number known at compile time
  // A list of this one dimension, for overloads of an op that differ in it; empty for none.
  ir::Dims dims() const { return has_value() ? ir::Dims{dim()} : ir::Dims{}; }
};

class IntListArgument : public AnyArgument {
 public:
  using AnyArgument::AnyArgument;
  ir::Dims dims() const;  // a single number is a list of one; none is an empty list
};

// A float, or a scalar of any kind.
class NumberArgument : public AnyArgument {
 public:
  using AnyArgument::AnyArgument;
  double number() const;
  ir::Dim dim() const { return read_dim(); }  // value of a scalar that is an int
};

class BoolArgument : public AnyArgument {
 public:
  using AnyArgument::AnyArgument;
  operator bool() const;  // NOLINT(google-explicit-constructor): false for none
};

class DtypeArgument : public AnyArgument {
 public:
  using AnyArgument::AnyArgument;
  std::optional<ir::Dtype> value() const;
  ir::Dtype value_or(ir::Dtype other) const { return value().value_or(other); }
};

class MemoryFormatArgument : public AnyArgument {
 public:
  using AnyArgument::AnyArgument;
  std::optional<ir::MemoryFormat> format() const;
};

class StringArgument : public AnyArgument {
 public:
  using AnyArgument::AnyArgument;
  const std::string* find_text() const;  // null for none
};

class FloatListArgument : public AnyArgument {
 public:
  using AnyArgument::AnyArgument;
  const ir::FloatList* find_list() const;  // null for none
};

class BoolListArgument : public AnyArgument {
 public:
  using AnyArgument::AnyArgument;
  bool at(size_t index) const;  // false past the end
};

// A call as rules see it, and the reader (api/ops/argument_reader.hpp) below the schemas' views. A handle:
// copies share the state.
class Call {
 public:
  explicit Call(CallState& state) : state_(&state) {}

  ir::SymbolTable& symbols() const { return state_->module.symbols; }
  const ir::Op& op() const { return state_->module.op(state_->op); }
  std::span<const ir::Argument> arguments() const { return state_->args; }
  AnyArgument argument(size_t index) const { return {*state_, index}; }

  // Index of one of `rank` dimensions; a negative `dim` counts from the end.
  size_t axis(int64_t dim, size_t rank) const;
  // True for the dimensions that `list` names; all true when it is empty.
  std::vector<bool> axes(const ir::Dims& list, size_t rank) const;

  void fail(std::string why) const { state_->fail(std::move(why)); }
  const std::string& error() const { return state_->error; }

  // ---- The reader.

  TensorArgument read_tensor(size_t index) const { return {*state_, index}; }
  TensorArgument read_optional_tensor(size_t index) const { return {*state_, index}; }
  TensorArgument read_written_tensor(size_t index) const { return {*state_, index}; }
  TensorListArgument read_tensor_list(size_t index) const { return {*state_, index}; }
  TensorListArgument read_list_of_optional_tensors(size_t index) const { return {*state_, index}; }
  NumberArgument read_scalar(size_t index) const { return {*state_, index}; }
  NumberArgument read_optional_scalar(size_t index) const { return {*state_, index}; }
  AnyArgument read_scalar_list(size_t index) const { return {*state_, index}; }
  IntArgument read_int(size_t index) const { return {*state_, index}; }
  IntArgument read_optional_int(size_t index) const { return {*state_, index}; }
  NumberArgument read_float(size_t index) const { return {*state_, index}; }
  NumberArgument read_optional_float(size_t index) const { return {*state_, index}; }
  BoolArgument read_bool(size_t index) const { return {*state_, index}; }
  BoolArgument read_optional_bool(size_t index) const { return {*state_, index}; }
  StringArgument read_string(size_t index) const { return {*state_, index}; }
  StringArgument read_optional_string(size_t index) const { return {*state_, index}; }
  DtypeArgument read_dtype(size_t index) const { return {*state_, index}; }
  DtypeArgument read_optional_dtype(size_t index) const { return {*state_, index}; }
  MemoryFormatArgument read_memory_format(size_t index) const { return {*state_, index}; }
  MemoryFormatArgument read_optional_memory_format(size_t index) const { return {*state_, index}; }
  IntListArgument read_int_list(size_t index, size_t) const { return {*state_, index}; }
  IntListArgument read_optional_int_list(size_t index, size_t) const { return {*state_, index}; }
  BoolListArgument read_bool_list(size_t index) const { return {*state_, index}; }
  FloatListArgument read_float_list(size_t index) const { return {*state_, index}; }
  FloatListArgument read_optional_float_list(size_t index) const { return {*state_, index}; }

 private:
  CallState* state_;
};

}  // namespace etb::infer
