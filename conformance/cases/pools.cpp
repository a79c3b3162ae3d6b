// SPDX-License-Identifier: Apache-2.0
// Pooling over images: maximum and mean.
#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/generators.hpp"

namespace etb::conformance {
namespace {

using graph::bool_arg;
using graph::ints_arg;
using graph::value_arg;

struct Window {
  const char* word;
  std::vector<int64_t> input;
  int64_t kernel, stride, padding;
  bool is_ceil = false;
  bool counts_padding = true;
};
const Window kWindows[] = {
    {"k2", {1, 2, 4, 6}, 2, 2, 0},     {"k3", {2, 3, 7, 5}, 3, 1, 0},
    {"k3_pad", {1, 2, 6, 6}, 3, 2, 1}, {"k3_ceil", {1, 1, 6, 6}, 3, 2, 0, true},
    {"k2_s3", {1, 4, 8, 8}, 2, 3, 0},  {"k3_pad_exclude", {1, 2, 5, 5}, 3, 1, 1, false, false}};

int64_t out_size(const Window& w, int64_t in) {
  const int64_t span = in + 2 * w.padding - w.kernel;
  return (w.is_ceil ? (span + w.stride - 1) / w.stride : span / w.stride) + 1;
}

void add_window(CaseList& out, const Window& w, etb_dtype dtype, bool is_max, bool is_last) {
  const char* op = is_max ? "aten.max_pool2d_with_indices.default" : "aten.avg_pool2d.default";
  const std::vector<uint8_t> order = is_last ? channels_last(4) : std::vector<uint8_t>{};
  const Shape input{dtype, w.input, order},
      result{dtype, {w.input[0], w.input[1], out_size(w, w.input[2]), out_size(w, w.input[3])}, order};
  const std::string name =
      op_word(op) + "." + short_name(dtype) + "." + shape_text(input) + "." + w.word + ".stat";
  out.add({name, op, dtype, [=, &w](std::string_view full_name) {
             CaseBuilder builder(full_name);
             const uint32_t x = builder.input(input, Values::kStatistical,
                                              is_floating(dtype) ? Domain{} : Domain{-100, 100});
             std::vector<graph::ArgumentDesc> args = {
                 value_arg(x, "self"), ints_arg({w.kernel, w.kernel}, "kernel_size"),
                 ints_arg({w.stride, w.stride}, "stride"), ints_arg({w.padding, w.padding}, "padding")};
             if (is_max) {
               args.push_back(ints_arg({1, 1}, "dilation"));
               args.push_back(bool_arg(w.is_ceil, "ceil_mode"));
               Shape indices = result;
               indices.dtype = ETB_DTYPE_INT64;
               builder.output(builder.node(op, args, std::vector<Shape>{result, indices}));
               return builder.finish({});
             }
             args.push_back(bool_arg(w.is_ceil, "ceil_mode"));
             args.push_back(bool_arg(w.counts_padding, "count_include_pad"));
             builder.output(builder.node(op, args, result));
             ErrorModel error_model;
             error_model.rule = Rule::kContraction;
             error_model.length = w.kernel * w.kernel + 1;
             error_model.has_input_magnitude = true;
             return builder.finish(std::move(error_model));
           }});
}

void add_adaptive(CaseList& out, etb_dtype dtype) {
  for (const int64_t size : {int64_t{1}, int64_t{2}, int64_t{3}}) {
    const Shape input{dtype, {1, 3, 6, 7}, {}}, result{dtype, {1, 3, size, size}, {}};
    const std::string name = std::string("op.adaptive_avg_pool2d.") + short_name(dtype) + ".1x3x6x7.o" +
                             std::to_string(size) + ".stat";
    out.add({name, "aten._adaptive_avg_pool2d.default", dtype, [=](std::string_view full_name) {
               CaseBuilder builder(full_name);
               const uint32_t x = builder.input(input, Values::kStatistical);
               builder.output(builder.node("aten._adaptive_avg_pool2d.default",
                                           {value_arg(x, "self"), ints_arg({size, size}, "output_size")},
                                           result));
               ErrorModel error_model;
               error_model.rule = Rule::kContraction;
               error_model.length = 43;
               error_model.has_input_magnitude = true;
               return builder.finish(std::move(error_model));
             }});
  }
}

}  // namespace

void add_pools(CaseList& out) {
  for (const etb_dtype dtype : kAllDtypes) {
    if (dtype == ETB_DTYPE_BOOL) continue;
    for (const Window& w : kWindows)
      for (const bool is_last : {false, true}) {
        if (w.counts_padding) add_window(out, w, dtype, true, is_last);
        if (is_floating(dtype)) add_window(out, w, dtype, false, is_last);
      }
    if (is_floating(dtype)) add_adaptive(out, dtype);
  }
}

}  // namespace etb::conformance
