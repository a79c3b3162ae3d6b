// SPDX-License-Identifier: Apache-2.0
// NodeArguments: reads the arguments of a graph's node for the views "ops/<op>.hpp" (api/ops/argument_reader.hpp).
//
//   Status lower_roll(LoweringContext& context, ops::roll_default<NodeArguments> args) {
//     ETB_ASSIGN(const uint32_t self, args.self().id());
//     ETB_ASSIGN(const std::vector<int64_t> dims, args.dims().integers());
//
// An image may leave out arguments that equal the schema's default. So an argument is found by the name that the
// schema has for its position. Readers of optional numbers take the default; they return it for none, too.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "api/ops/argument_reader.hpp"
#include "etb/cpp/compile.hpp"
#include "etb/cpp/result.hpp"

namespace etb::xnnpack {

class NodeArguments {
 public:
  // One argument, found when it is read. Its readers reject the node if it has another kind.
  class Argument {
   public:
    Argument(const Node& node, const char* names, uint32_t index)
        : node_(&node), names_(names), index_(index) {}

    std::string_view name() const;
    // Returns the graph's argument, none if it is missing or none.
    std::optional<graph::Argument> find() const;
    bool has_value() const { return find().has_value(); }

   private:
    const Node* node_;
    const char* names_;
    uint32_t index_;
  };

  class Tensor : public Argument {
   public:
    explicit Tensor(Argument argument) : Argument(argument) {}
    // Returns the value's id.
    [[nodiscard]] Result<uint32_t> id() const;
  };

  class TensorList : public Argument {
   public:
    explicit TensorList(Argument argument) : Argument(argument) {}
    // Errors: an empty list, or one with an absent tensor.
    [[nodiscard]] Result<std::vector<uint32_t>> ids() const;
  };

  class Number : public Argument {
   public:
    explicit Number(Argument argument) : Argument(argument) {}
    [[nodiscard]] Result<int64_t> integer_or(int64_t otherwise) const;
    [[nodiscard]] Result<double> number_or(double otherwise) const;
    // Returns a dimension of a tensor of `rank`, counted from the front.
    [[nodiscard]] Result<uint32_t> dim_or(int64_t otherwise, size_t rank) const;
  };

  class NumberList : public Argument {
   public:
    explicit NumberList(Argument argument) : Argument(argument) {}
    // Returns an empty list if the argument is missing. A single number is a list of one.
    [[nodiscard]] Result<std::vector<int64_t>> integers() const;
    std::vector<double> floats() const;
  };

  class Flag : public Argument {
   public:
    explicit Flag(Argument argument) : Argument(argument) {}
    [[nodiscard]] Result<bool> value_or(bool otherwise) const;
  };

  // A text, a dtype or another word.
  class Word : public Argument {
   public:
    explicit Word(Argument argument) : Argument(argument) {}
    std::string_view text() const;
    std::optional<etb_dtype> dtype() const;
  };

  // `names`: the schema's, separated by spaces (kArgumentNames of a view).
  NodeArguments(const Node& node, const char* names) : node_(&node), names_(names) {}

  // ---- The reader.

  Tensor read_tensor(uint32_t index) const { return Tensor(argument(index)); }
  Tensor read_optional_tensor(uint32_t index) const { return Tensor(argument(index)); }
  TensorList read_tensor_list(uint32_t index) const { return TensorList(argument(index)); }
  Number read_scalar(uint32_t index) const { return Number(argument(index)); }
  Number read_optional_scalar(uint32_t index) const { return Number(argument(index)); }
  Number read_int(uint32_t index) const { return Number(argument(index)); }
  Number read_optional_int(uint32_t index) const { return Number(argument(index)); }
  Number read_float(uint32_t index) const { return Number(argument(index)); }
  Number read_optional_float(uint32_t index) const { return Number(argument(index)); }
  NumberList read_int_list(uint32_t index, uint32_t) const { return NumberList(argument(index)); }
  NumberList read_optional_int_list(uint32_t index, uint32_t) const { return NumberList(argument(index)); }
  NumberList read_optional_float_list(uint32_t index) const { return NumberList(argument(index)); }
  Flag read_bool(uint32_t index) const { return Flag(argument(index)); }
  Word read_string(uint32_t index) const { return Word(argument(index)); }
  Word read_dtype(uint32_t index) const { return Word(argument(index)); }

 private:
  Argument argument(uint32_t index) const { return {*node_, names_, index}; }

  const Node* node_;
  const char* names_;
};
static_assert(ops::ArgumentReader<NodeArguments>);

// The tensor `self`, for code shared by ops whose other arguments it does not read.
struct SelfArgument {
  template <class View>
  explicit SelfArgument(const View& args) : self(args.self()) {}

  NodeArguments::Tensor self;
};

}  // namespace etb::xnnpack
