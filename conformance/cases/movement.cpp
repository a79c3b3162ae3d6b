// SPDX-License-Identifier: Apache-2.0
// Ops that move elements without changing them: compared bit for bit.
#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/generators.hpp"

namespace etb::conformance {
namespace {

using graph::int_arg;
using graph::ints_arg;
using graph::value_arg;

struct Move {
  const char* op;
  const char* word;  // names the operation in case names
  std::vector<int64_t> input;
  std::vector<graph::ArgumentDesc> args;  // after self
  std::vector<int64_t> result;
  size_t result_count = 0;  // length of a list; 0: one tensor
};

std::vector<Move> moves() {
  return {
      {"aten.permute_copy.default", "p10", {3, 5}, {ints_arg({1, 0}, "dims")}, {5, 3}},
      {"aten.permute_copy.default", "p0231", {2, 3, 4, 5}, {ints_arg({0, 2, 3, 1}, "dims")}, {2, 4, 5, 3}},
      {"aten.permute_copy.default", "p201", {4, 3, 2}, {ints_arg({-1, 0, 1}, "dims")}, {2, 4, 3}},
      {"aten.transpose_copy.int", "t01", {3, 5}, {int_arg(0, "dim0"), int_arg(1, "dim1")}, {5, 3}},
      {"aten.transpose_copy.int",
       "tm1m2",
       {2, 3, 17},
       {int_arg(-1, "dim0"), int_arg(-2, "dim1")},
       {2, 17, 3}},
      {"aten.t_copy.default", "t", {4, 33}, {}, {33, 4}},
      {"aten.view_copy.default", "flat", {2, 3, 4}, {ints_arg({24}, "size")}, {24}},
      {"aten.view_copy.default", "split", {24}, {ints_arg({4, -1, 2}, "size")}, {4, 3, 2}},
      {"aten.expand_copy.default", "e4", {1}, {ints_arg({4}, "size")}, {4}},
      {"aten.expand_copy.default", "e2m1", {3, 1}, {ints_arg({2, -1, 5}, "size")}, {2, 3, 5}},
      {"aten.slice_copy.Tensor",
       "head",
       {10},
       {int_arg(0, "dim"), int_arg(0, "start"), int_arg(4, "end")},
       {4}},
      {"aten.slice_copy.Tensor",
       "step3",
       {3, 10},
       {int_arg(1, "dim"), int_arg(1, "start"), int_arg(9, "end"), int_arg(3, "step")},
       {3, 3}},
      {"aten.slice_copy.Tensor",
       "tail",
       {7, 3},
       {int_arg(0, "dim"), int_arg(-2, "start"), int_arg(100, "end")},
       {2, 3}},
      {"aten.select_copy.int", "first", {3, 4}, {int_arg(0, "dim"), int_arg(0, "index")}, {4}},
      {"aten.select_copy.int", "last", {3, 4}, {int_arg(1, "dim"), int_arg(-1, "index")}, {3}},
      {"aten.squeeze_copy.dims", "both", {1, 3, 1}, {ints_arg({0, 2}, "dim")}, {3}},
      {"aten.unsqueeze_copy.default", "front", {3, 4}, {int_arg(0, "dim")}, {1, 3, 4}},
      {"aten.unsqueeze_copy.default", "back", {3, 4}, {int_arg(-1, "dim")}, {3, 4, 1}},
      {"aten.flip.default", "f0", {5}, {ints_arg({0}, "dims")}, {5}},
      {"aten.flip.default", "f02", {2, 3, 4}, {ints_arg({0, 2}, "dims")}, {2, 3, 4}},
      {"aten.roll.default", "r2", {3, 7}, {ints_arg({2}, "shifts"), ints_arg({1}, "dims")}, {3, 7}},
      {"aten.repeat.default", "r23", {2, 3}, {ints_arg({2, 3}, "repeats")}, {4, 9}},
      {"aten.repeat.default", "r212", {3, 2}, {ints_arg({2, 1, 2}, "repeats")}, {2, 3, 4}},
      {"aten.constant_pad_nd.default", "one", {3, 4}, {ints_arg({1, 2}, "pad"), int_arg(1, "value")}, {3, 7}},
      {"aten.constant_pad_nd.default",
       "both",
       {2, 3},
       {ints_arg({1, 0, 2, 1}, "pad"), int_arg(0, "value")},
       {5, 4}},
      {"aten.reflection_pad1d.default", "r12", {2, 5}, {ints_arg({1, 2}, "padding")}, {2, 8}},
      {"aten.reflection_pad2d.default",
       "r1",
       {1, 2, 4, 5},
       {ints_arg({1, 1, 1, 2}, "padding")},
       {1, 2, 7, 7}},
      {"aten.replication_pad2d.default",
       "r1",
       {1, 2, 4, 5},
       {ints_arg({2, 1, 1, 0}, "padding")},
       {1, 2, 5, 8}},
      {"aten.pixel_shuffle.default", "u2", {1, 8, 2, 3}, {int_arg(2, "upscale_factor")}, {1, 2, 4, 6}},
      {"aten.pixel_unshuffle.default", "d2", {1, 2, 4, 6}, {int_arg(2, "downscale_factor")}, {1, 8, 2, 3}},
      {"aten.tril.default", "d0", {4, 5}, {int_arg(0, "diagonal")}, {4, 5}},
      {"aten.tril.default", "d1", {2, 4, 4}, {int_arg(1, "diagonal")}, {2, 4, 4}},
      {"aten.diagonal_copy.default", "d0", {4, 6}, {}, {4}},
      {"aten.unfold_copy.default",
       "s2",
       {3, 9},
       {int_arg(1, "dimension"), int_arg(3, "size"), int_arg(2, "step")},
       {3, 4, 3}},
      {"aten.split_copy.Tensor", "s2", {4, 3}, {int_arg(2, "split_size")}, {2, 3}, 2},
      {"aten.unbind_copy.int", "d0", {3, 4}, {int_arg(0, "dim")}, {4}, 3},
      {"aten.slice_copy.Tensor",
       "empty",
       {5},
       {int_arg(0, "dim"), int_arg(3, "start"), int_arg(3, "end")},
       {0}},
      {"aten.permute_copy.default", "empty", {0, 3}, {ints_arg({1, 0}, "dims")}, {3, 0}},
  };
}

std::string name_of(const Move& move, etb_dtype dtype, Values values, bool is_last) {
  std::string word = op_word(move.op);
  if (std::string_view(move.word) == "empty" || values == Values::kSpecial) word = "edge" + word.substr(2);
  const Shape shape{dtype, move.input, is_last ? channels_last(move.input.size()) : std::vector<uint8_t>{}};
  return word + "." + short_name(dtype) + "." + shape_text(shape) + "." + move.word + "." + to_text(values);
}

void add_move(CaseList& out, const Move& move, etb_dtype dtype, Values values, bool is_last) {
  out.add(
      {name_of(move, dtype, values, is_last), move.op, dtype, [=](std::string_view name) {
         CaseBuilder builder(name);
         const Shape input{dtype, move.input,
                           is_last ? channels_last(move.input.size()) : std::vector<uint8_t>{}};
         const Shape result{dtype, move.result, {}};
         const uint32_t x = builder.input(input, values, is_floating(dtype) ? Domain{} : Domain{-100, 100});
         std::vector<graph::ArgumentDesc> args = {value_arg(x, "self")};
         args.insert(args.end(), move.args.begin(), move.args.end());
         if (move.result_count == 0) {
           builder.output(builder.node(move.op, args, result));
         } else {
           const uint32_t first = builder.node(move.op, args, std::vector<Shape>(move.result_count, result),
                                               {static_cast<int32_t>(move.result_count)});
           for (uint32_t i = 0; i < move.result_count; ++i) builder.output(first + i);
         }
         return builder.finish({});
       }});
}

struct Joined {
  const char* op;
  std::vector<std::vector<int64_t>> inputs;
  int64_t dim;
  std::vector<int64_t> result;
};
const Joined kJoined[] = {{"aten.cat.default", {{2, 3}, {4, 3}}, 0, {6, 3}},
                          {"aten.cat.default", {{2, 3}, {2, 1}, {2, 5}}, 1, {2, 9}},
                          {"aten.cat.default", {{2, 3, 4}, {2, 3, 4}}, -1, {2, 3, 8}},
                          {"aten.cat.default", {{3}, {0}, {2}}, 0, {5}},
                          {"aten.stack.default", {{2, 3}, {2, 3}}, 0, {2, 2, 3}},
                          {"aten.stack.default", {{4}, {4}, {4}}, 1, {4, 3}}};

void add_joined(CaseList& out, const Joined& joined, etb_dtype dtype) {
  std::string sizes;
  for (const auto& input : joined.inputs)
    sizes += (sizes.empty() ? "" : "__") + shape_text({dtype, input, {}});
  const std::string name = op_word(joined.op) + "." + short_name(dtype) + "." + sizes + ".d" +
                           (joined.dim < 0 ? "m1" : std::to_string(joined.dim)) + ".stat";
  out.add({name, joined.op, dtype, [=, &joined](std::string_view full_name) {
             CaseBuilder builder(full_name);
             std::vector<uint32_t> values;
             for (const auto& input : joined.inputs)
               values.push_back(builder.input({dtype, input, {}}, Values::kStatistical));
             builder.output(builder.node(joined.op,
                                         {graph::values_arg(values, "tensors"), int_arg(joined.dim, "dim")},
                                         Shape{dtype, joined.result, {}}));
             return builder.finish({});
           }});
}

TensorData indices(const Shape& shape, int64_t count, Random& random) {
  TensorData out{shape, std::vector<std::byte>(static_cast<size_t>(shape.numel()) * 8)};
  for (int64_t i = 0; i < shape.numel(); ++i)
    store_element(ETB_DTYPE_INT64, out.bytes.data(), i, static_cast<double>(random.between(0, count - 1)));
  return out;
}

void add_indexed(CaseList& out, etb_dtype dtype) {
  const std::string word = std::string(".") + short_name(dtype) + ".";
  for (const int64_t dim : {int64_t{0}, int64_t{1}}) {
    out.add({"op.index_select" + word + "5x4.d" + std::to_string(dim) + ".stat", "aten.index_select.default",
             dtype, [=](std::string_view name) {
               CaseBuilder builder(name);
               const uint32_t x = builder.input({dtype, {5, 4}, {}}, Values::kStatistical);
               const uint32_t i = builder.input(indices({ETB_DTYPE_INT64, {3}, {}}, 4, builder.random()));
               builder.output(builder.node(
                   "aten.index_select.default",
                   {value_arg(x, "self"), int_arg(dim, "dim"), value_arg(i, "index")},
                   Shape{dtype, dim == 0 ? std::vector<int64_t>{3, 4} : std::vector<int64_t>{5, 3}, {}}));
               return builder.finish({});
             }});
    out.add({"op.gather" + word + "5x4.d" + std::to_string(dim) + ".stat", "aten.gather.default", dtype,
             [=](std::string_view name) {
               CaseBuilder builder(name);
               const uint32_t x = builder.input({dtype, {5, 4}, {}}, Values::kStatistical);
               const uint32_t i = builder.input(indices({ETB_DTYPE_INT64, {3, 2}, {}}, 4, builder.random()));
               builder.output(builder.node("aten.gather.default",
                                           {value_arg(x, "self"), int_arg(dim, "dim"), value_arg(i, "index")},
                                           Shape{dtype, {3, 2}, {}}));
               return builder.finish({});
             }});
  }
  if (!is_floating(dtype)) return;
  out.add(
      {"op.embedding" + word + "9x5__2x3.stat", "aten.embedding.default", dtype, [=](std::string_view name) {
         CaseBuilder builder(name);
         const uint32_t x = builder.input({dtype, {9, 5}, {}}, Values::kStatistical);
         const uint32_t i = builder.input(indices({ETB_DTYPE_INT64, {2, 3}, {}}, 9, builder.random()));
         builder.output(builder.node("aten.embedding.default",
                                     {value_arg(x, "weight"), value_arg(i, "indices")},
                                     Shape{dtype, {2, 3, 5}, {}}));
         return builder.finish({});
       }});
}

}  // namespace

void add_movement(CaseList& out) {
  for (const etb_dtype dtype : kAllDtypes) {
    for (const Move& move : moves()) {
      add_move(out, move, dtype, Values::kStatistical, false);
      if (is_floating(dtype) && std::string_view(move.word) != "empty")
        add_move(out, move, dtype, Values::kSpecial, false);
      if (move.input.size() == 4) add_move(out, move, dtype, Values::kStatistical, true);
    }
    for (const Joined& joined : kJoined) add_joined(out, joined, dtype);
    add_indexed(out, dtype);
  }
}

}  // namespace etb::conformance
