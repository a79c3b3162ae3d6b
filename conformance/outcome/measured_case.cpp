// SPDX-License-Identifier: Apache-2.0
#include "conformance/outcome/measured_case.hpp"

#include "conformance/judge/expected.hpp"
#include "etb/cpp/graph_view.hpp"

namespace etb::conformance {
namespace {

// Bounds of the output's elements, in units of float32: the judge multiplies by the unit of the contract.
std::vector<double> measure_bounds(const SmallCase& small, const std::vector<TensorData>& inputs) {
  const Result<std::vector<ExpectedTensor>> expected =
      expect_results(small.image.span(), {}, inputs, PrecisionContract{}, "measured");
  if (!expected || expected->empty()) return {0};  // the reference fails in the same way, and is reported
  std::vector<double> out = expected->front().bounds;
  for (double& bound : out) bound /= float_format(ETB_DTYPE_FLOAT32).unit();
  return out;
}

}  // namespace

std::shared_ptr<const Case> make_measured_case(const std::string& name, SmallCase small) {
  Case made;
  made.name = name;
  made.op = "model";
  if (const Result<graph::View> view = graph::View::open(small.image.span()); view) {
    const graph::Graph method = view->method();
    if (method.nodes().size() == 1) made.op = (*method.nodes().begin()).op_name();
    for (const etb_graph_output& output : method.outputs())
      if (method.value(output.value).is_tensor())
        made.dtype = static_cast<etb_dtype>(method.value(output.value).spec().dtype);
  }
  made.build =
      [shared = std::make_shared<const SmallCase>(std::move(small))](std::string_view) -> Result<BuiltCase> {
    BuiltCase out;
    out.image = shared->image;
    out.runs = shared->runs;
    out.error_model.rule = Rule::kRounded;
    out.error_model.ulps = 1;
    out.error_model.steps = 1;
    out.error_model.magnitude = [shared](const std::vector<TensorData>& inputs) {
      return measure_bounds(*shared, inputs);
    };
    return out;
  };
  return std::make_shared<const Case>(std::move(made));
}

}  // namespace etb::conformance
