// SPDX-License-Identifier: Apache-2.0
// A value with two readers, directly or by a name with other dims: its permutation, or a view of it. One reader is an
// op that plugins fuse into the producer; the other, or the host, must still see the numbers before it. Also values that
// are read late by a name of a name, when a plugin may have used their memory again.
#include <string>

#include "conformance/cases/design_convolution.hpp"
#include "conformance/cases/designs.hpp"

namespace etb::conformance {
namespace {

using graph::float_arg;
using graph::int_arg;
using graph::ints_arg;
using graph::value_arg;

constexpr etb_dtype kDtype = ETB_DTYPE_FLOAT32;

enum class Producer { kAdd, kMul, kLinear, kProduct, kConvolution };
constexpr std::pair<Producer, const char*> kProducers[] = {{Producer::kAdd, "add"},
                                                           {Producer::kMul, "mul"},
                                                           {Producer::kLinear, "linear"},
                                                           {Producer::kProduct, "mm"},
                                                           {Producer::kConvolution, "convolution"}};
enum class Name { kSame, kPermuted, kView, kUnsqueezed };
constexpr std::pair<Name, const char*> kNames[] = {{Name::kSame, "same"},
                                                   {Name::kPermuted, "permuted"},
                                                   {Name::kView, "view"},
                                                   {Name::kUnsqueezed, "unsqueezed"}};
enum class Fused { kRelu, kClamp, kSlope };
constexpr Fused kAllFused[] = {Fused::kRelu, Fused::kClamp, Fused::kSlope};

// The other reader: a node, or the host.
struct Row {
  Name fused_name = Name::kSame, other_name = Name::kSame;
  bool is_read_by_host = false, is_fused_last = false;
};

struct Named {
  uint32_t value;
  Shape shape;
};

// Adds a producer of small whole numbers, whose sums are exact.
Named add_producer(OpForm& form, Producer producer) {
  const bool is_image = producer == Producer::kConvolution;
  const Shape shape{kDtype, is_image ? Sizes{1, 4, 5, 6} : Sizes{5, 8}, {}};
  const Convolution c = even_convolution(kDtype, {4, 4, 1}, {5, 6}, 3, 1, 1);
  const bool has_weight = producer == Producer::kLinear || producer == Producer::kProduct;
  form.operands = {{shape, Values::kExact}};
  form.operands.push_back(is_image     ? Operand{c.weight_shape(), Values::kExact, {}, true}
                          : has_weight ? Operand{{kDtype, {8, 8}, {}}, Values::kExact, {}, true}
                                       : Operand{shape, Values::kExact});
  FormNodes nodes(form.nodes, form.operands.size());
  switch (producer) {
    case Producer::kAdd:
      return {nodes.add("aten.add.Tensor", {value_arg(0, "self"), value_arg(1, "other")}, shape), shape};
    case Producer::kMul:
      return {nodes.add("aten.mul.Tensor", {value_arg(0, "self"), value_arg(1, "other")}, shape), shape};
    case Producer::kLinear:
      return {nodes.add("aten.linear.default",
                        {value_arg(0, "input"), value_arg(1, "weight"), graph::none_arg("bias")}, shape),
              shape};
    case Producer::kProduct:
      return {nodes.add("aten.mm.default", {value_arg(0, "self"), value_arg(1, "mat2")}, shape), shape};
    default:
      return {
          nodes.add("aten.convolution.default", convolution_args(c, 0, 1, graph::none_arg("bias")), shape),
          shape};
  }
}

Named add_name(FormNodes& nodes, const Named& from, Name name) {
  Shape to = from.shape;
  const auto rank = static_cast<int64_t>(to.sizes.size());
  switch (name) {
    case Name::kSame:
      return from;
    case Name::kPermuted: {
      std::vector<int64_t> order;
      for (int64_t d = 0; d < rank; ++d) order.push_back(rank - 1 - d);
      to.sizes.assign(from.shape.sizes.rbegin(), from.shape.sizes.rend());
      return {nodes.add("aten.permute_copy.default", {value_arg(from.value, "self"), ints_arg(order, "dims")},
                        to),
              to};
    }
    case Name::kView:
      to.sizes = {from.shape.numel() / 2, 2};
      return {nodes.add("aten.view_copy.default", {value_arg(from.value, "self"), ints_arg(to.sizes, "size")},
                        to),
              to};
    default:
      to.sizes.insert(to.sizes.begin() + 1, 1);
      return {
          nodes.add("aten.unsqueeze_copy.default", {value_arg(from.value, "self"), int_arg(1, "dim")}, to),
          to};
  }
}

uint32_t add_fused(FormNodes& nodes, const Named& x, Fused fused) {
  std::vector<graph::ArgumentDesc> args = {value_arg(x.value, "self")};
  if (fused == Fused::kRelu) return nodes.add("aten.relu.default", args, x.shape);
  if (fused == Fused::kSlope) {
    args.push_back(float_arg(0.5, "negative_slope"));
    return nodes.add("aten.leaky_relu.default", args, x.shape);
  }
  args.push_back(float_arg(-2, "min_val"));
  args.push_back(float_arg(5, "max_val"));
  return nodes.add("aten.hardtanh.default", args, x.shape);
}

OpForm form_of(Producer producer, const Row& row, Fused fused) {
  OpForm form;
  const Named made = add_producer(form, producer);
  form.op = form.nodes[0].op;
  FormNodes nodes(form.nodes, form.operands.size() + 1);
  const auto first = static_cast<uint32_t>(form.operands.size());
  const auto add_other = [&] {
    const Named other = add_name(nodes, made, row.other_name);
    const uint32_t read = row.is_read_by_host
                              ? other.value
                              : nodes.add("aten.neg.default", {value_arg(other.value, "self")}, other.shape);
    form.outputs.push_back(read - first);
  };
  if (row.is_fused_last) add_other();
  form.outputs.push_back(add_fused(nodes, add_name(nodes, made, row.fused_name), fused) - first);
  if (!row.is_fused_last) add_other();
  form.error_model = exact_model(Rule::kExactValue);
  return form;
}

// ---- read late

// Names of names, up to three, each with other dims.
OpForm late_form(Producer producer, size_t depth, size_t first_name, size_t work_count) {
  constexpr Name kOthers[] = {Name::kView, Name::kUnsqueezed, Name::kPermuted};
  OpForm form;
  const Named made = add_producer(form, producer);
  form.op = form.nodes[0].op;
  FormNodes nodes(form.nodes, form.operands.size() + 1);
  Named name = made;
  for (size_t i = 0; i < depth; ++i)
    name = add_name(nodes, name, kOthers[(first_name + i) % std::size(kOthers)]);
  // Work of the same size as the value, in between.
  uint32_t other = nodes.add("aten.neg.default", {value_arg(0, "self")}, form.operands[0].shape);
  for (size_t i = 0; i < work_count; ++i)
    other = nodes.add(i % 2 == 0 ? "aten.abs.default" : "aten.neg.default", {value_arg(other, "self")},
                      form.operands[0].shape);
  const uint32_t late = nodes.add("aten.neg.default", {value_arg(name.value, "self")}, name.shape);
  const auto first = static_cast<uint32_t>(form.operands.size());
  form.outputs = {other - first, late - first};
  form.error_model = exact_model(Rule::kExactValue);
  form.word = "late_readers.depth" + std::to_string(depth) + "_from" + std::to_string(first_name) + ".work" +
              std::to_string(work_count);
  return form;
}

void add_late_readers(CaseList& out) {
  for (const auto& [producer, word] : kProducers)
    for (const size_t depth : {1, 2, 3})
      for (const size_t first_name : {0, 1, 2})
        for (const size_t work_count : {2, 5}) {
          OpForm form = late_form(producer, depth, first_name, work_count);
          form.word += std::string(".") + word;
          add_form(out, kDtype, std::move(form));
        }
}

}  // namespace

void add_reader_designs(CaseList& out) {
  add_late_readers(out);
  size_t at = 0;
  for (const auto& [producer, word] : kProducers)
    for (const auto& [fused_name, fused_word] : kNames)
      for (const auto& [other_name, other_word] : kNames)
        for (const bool is_read_by_host : {false, true})
          for (const bool is_fused_last : {false, true}) {
            OpForm form = form_of(producer, {fused_name, other_name, is_read_by_host, is_fused_last},
                                  kAllFused[at++ % std::size(kAllFused)]);
            form.word = std::string("readers.") + word + ".fused_" + fused_word + "." +
                        (is_read_by_host ? "host_" : "node_") + other_word +
                        (is_fused_last ? ".last" : ".first");
            add_form(out, kDtype, std::move(form));
          }
}

}  // namespace etb::conformance
