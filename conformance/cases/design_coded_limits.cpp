// SPDX-License-Identifier: Apache-2.0
// Codes whose sums and limits need care: long rows of softmax, and two limits after one op.
#include "conformance/cases/coded_form.hpp"
#include "conformance/cases/designs.hpp"

namespace etb::conformance {
namespace {

using graph::ArgumentDesc;
using graph::bool_arg;
using graph::float_arg;
using graph::int_arg;
using graph::value_arg;

// Rows whose exponentials are nearly equal: their sum needs more bits than one of them.
void add_long_softmax(CaseList& out) {
  for (const Sizes& sizes : {Sizes{3, 600}, {1, 2, 1500}, {4100}})
    for (const double scale : {0x1p-9, 0x1p-7, 0.0031})
      for (const double result_scale : {0x1p-8, 0x1p-13}) {
        Coded coded;
        coded.op = "aten._softmax.default";
        coded.operands = {{ETB_DTYPE_INT8, sizes, {}}};
        coded.from = {{kInt8, scale, 0}};
        coded.to = {kInt8, result_scale, -128};
        coded.result = coded.operands[0];
        coded.word = "dim_m1.long";
        coded.args = [](const std::vector<uint32_t>& values) {
          return std::vector<ArgumentDesc>{value_arg(values[0], "self"), int_arg(-1, "dim"),
                                           bool_arg(false, "half_to_float")};
        };
        add_form(out, ETB_DTYPE_INT8, coded_form(coded));
      }
}

// Two limits after one op: both hold, whichever comes last.
void add_two_limits(CaseList& out) {
  using Tail = std::vector<std::pair<std::string, std::vector<ArgumentDesc>>>;
  const std::pair<const char*, Tail> kTails[] = {
      {"relu_then_wider",
       {{"aten.relu.default", {}}, {"aten.clamp.default", {float_arg(-2, "min"), float_arg(3, "max")}}}},
      {"wider_then_relu",
       {{"aten.hardtanh.default", {float_arg(-2, "min_val"), float_arg(1.5, "max_val")}},
        {"aten.relu.default", {}}}},
      {"crossing",
       {{"aten.clamp.default", {float_arg(-1, "min"), float_arg(2, "max")}},
        {"aten.hardtanh.default", {float_arg(-3, "min_val"), float_arg(0.5, "max_val")}}}},
      {"low_then_high",
       {{"aten.clamp.default", {float_arg(-1.25, "min"), graph::none_arg("max")}},
        {"aten.clamp.default", {graph::none_arg("min"), float_arg(1.75, "max")}}}},
      {"high_then_low",
       {{"aten.clamp.default", {graph::none_arg("min"), float_arg(1.75, "max")}},
        {"aten.clamp.default", {float_arg(-1.25, "min"), graph::none_arg("max")}}}}};
  for (const char* op : {"aten.add.Tensor", "aten.mul.Tensor"})
    for (const auto& [word, tail] : kTails)
      for (const double scale : {0x1p-5, 0.0317}) {
        Coded coded;
        coded.op = op;
        coded.operands = {{ETB_DTYPE_INT8, {5, 67}, {}}, {ETB_DTYPE_INT8, {5, 67}, {}}};
        coded.from = {{kInt8, scale, 3}, {kInt8, 2 * scale, -9}};
        coded.to = {kInt8, scale, -17};
        coded.result = coded.operands[0];
        coded.word = std::string("two_limits.") + word;
        coded.args = [](const std::vector<uint32_t>& values) {
          return std::vector<ArgumentDesc>{value_arg(values[0], "self"), value_arg(values[1], "other")};
        };
        coded.tail = tail;
        add_form(out, ETB_DTYPE_INT8, coded_form(coded));
      }
}

}  // namespace

void add_coded_limits(CaseList& out) {
  add_long_softmax(out);
  add_two_limits(out);
}

}  // namespace etb::conformance
