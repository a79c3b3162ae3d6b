// SPDX-License-Identifier: Apache-2.0
// Conversions between element types.
#include <cmath>
#include <numeric>

#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/elementwise.hpp"
#include "conformance/cases/generators.hpp"

namespace etb::conformance {
namespace {

// The op of torch.export, and the one that edge programs have instead.
constexpr const char* kOps[] = {"aten._to_copy.default", "dim_order_ops._to_dim_order_copy.default"};

Result<BuiltCase> convert(std::string_view full_name, const char* op, const Shape& shape, etb_dtype to,
                          Values values) {
  CaseBuilder builder(full_name);
  // Reals beyond an integer's range, and negative ones to an unsigned type, are undefined.
  const bool is_unsigned = to == ETB_DTYPE_UINT8 && shape.dtype != ETB_DTYPE_BOOL;
  TensorData data = make_values(shape, values, is_unsigned ? Domain{0, 4} : Domain{}, 0, builder.random());
  if (is_unsigned)
    for (int64_t i = 0; i < data.shape.numel(); ++i)
      store_element(shape.dtype, data.bytes.data(), i,
                    std::abs(load_element(shape.dtype, data.bytes.data(), i)));
  // Codes above 127 show a plugin that reads signed bytes.
  if (shape.dtype == ETB_DTYPE_UINT8 && is_floating(to))
    for (int64_t i = 0; i < data.shape.numel(); i += 3)
      store_element(shape.dtype, data.bytes.data(), i, static_cast<double>(255 - i));
  const uint32_t x = builder.input(std::move(data));
  Shape result = shape;
  result.dtype = to;
  std::vector<graph::ArgumentDesc> args = {graph::value_arg(x, "self"),
                                           graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, to, "dtype")};
  if (op != kOps[0]) {
    std::vector<int64_t> order(shape.sizes.size());
    std::iota(order.begin(), order.end(), 0);
    args.push_back(graph::bool_arg(false, "non_blocking"));
    args.push_back(graph::ints_arg(std::move(order), "dim_order"));
  }
  builder.output(builder.node(op, std::move(args), result));
  return builder.finish(error_model_of(is_floating(to) ? Rule::kRounded : Rule::kExact, kHalf));
}

}  // namespace

void add_conversions(CaseList& out) {
  for (const char* const op : kOps)
    for (const etb_dtype from : kAllDtypes)
      for (const etb_dtype to : kAllDtypes)
        for (const Values values : {Values::kStatistical, Values::kTies, Values::kExact}) {
          if (from == to || (from == ETB_DTYPE_BOOL && values != Values::kExact)) continue;
          for (const std::vector<int64_t>& sizes :
               {std::vector<int64_t>{65}, std::vector<int64_t>{2, 3, 4}}) {
            const Shape shape{from, sizes, {}};
            const std::string name =
                name_of(op, from, shape_text(shape) + ".to_" + short_name(to), values, false);
            out.add({name, op, from,
                     [=](std::string_view full_name) { return convert(full_name, op, shape, to, values); }});
          }
        }
}

}  // namespace etb::conformance
