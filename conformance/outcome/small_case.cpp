// SPDX-License-Identifier: Apache-2.0
#include "conformance/outcome/small_case.hpp"

#include <algorithm>

#include "etb/cpp/graph_view.hpp"

namespace etb::conformance {
namespace {

std::string text_of(const Shape& shape) {
  std::string out;
  for (const int64_t size : shape.sizes) out += (out.empty() ? "" : ", ") + std::to_string(size);
  return std::string(short_name(shape.dtype)) + " [" + out + "]";
}

}  // namespace

BuiltCase with_error_model(const SmallCase& small, const BuiltCase& of) {
  BuiltCase out;
  out.image = small.image;
  out.runs = small.runs;
  out.error_model = of.error_model;
  out.widen_integers = of.widen_integers;
  return out;
}

std::shared_ptr<const Case> make_case(const Case& of, SmallCase small) {
  return std::make_shared<const Case>(
      Case{of.name, of.op, of.dtype,
           [build = of.build, small = std::move(small)](std::string_view name) -> Result<BuiltCase> {
             ETB_ASSIGN(const BuiltCase built, build(name));
             return with_error_model(small, built);
           }});
}

std::string describe(const SmallCase& small) {
  const Result<graph::View> view = graph::View::open(small.image.span());
  if (!view) return "";
  std::string out;
  for (const graph::Node& node : view->method().nodes())
    out += (out.empty() ? "" : ", then ") + std::string(node.op_name());
  for (size_t i = 0; i < small.runs.size(); ++i) {
    std::string inputs;
    for (const TensorData& input : small.runs[i]) inputs += ", " + text_of(input.shape);
    out += i == 0 ? inputs : "; then" + inputs.substr(std::min<size_t>(inputs.size(), 1));
  }
  return out;
}

namespace {

Status check_run(const graph::Graph& method, const std::vector<TensorData>& inputs) {
  size_t number = 0;
  for (uint32_t i = 0; i < method.inputs().size(); ++i) {
    if (method.input(i).constant != graph::kNone) continue;
    const std::string where = "input " + std::to_string(number);
    if (!method.value(i).is_tensor()) return make_error(Code::INVALID_DATA, where + ": no tensor");
    if (number >= inputs.size()) return make_error(Code::INVALID_DATA, where + ": missing");
    const etb_graph_spec spec = method.spec_of(i);
    const TensorData& data = inputs[number++];
    bool fits = static_cast<uint32_t>(data.shape.dtype) == static_cast<uint32_t>(spec.dtype) &&
                data.shape.sizes.size() == spec.rank && element_nbytes(data.shape.dtype) != 0;
    uint64_t nbytes = fits ? element_nbytes(data.shape.dtype) : 0;
    for (uint32_t d = 0; fits && d < spec.rank; ++d)
      fits = data.shape.sizes[d] >= 0 && data.shape.sizes[d] <= spec.sizes[d] &&
             !__builtin_mul_overflow(nbytes, static_cast<uint64_t>(data.shape.sizes[d]), &nbytes);
    if (!fits || nbytes != data.bytes.size())
      return make_error(Code::INVALID_DATA, where + ": dtype, sizes or bytes that the graph does not take");
  }
  if (number != inputs.size()) return make_error(Code::INVALID_DATA, "more inputs than the graph takes");
  return {};
}

}  // namespace

Status check_inputs(const SmallCase& small) {
  ETB_ASSIGN(const graph::View view, graph::View::open(small.image.span()));
  if (small.runs.empty()) return make_error(Code::INVALID_DATA, "no runs");
  for (const std::vector<TensorData>& inputs : small.runs) ETB_TRY(check_run(view.method(), inputs));
  return {};
}

}  // namespace etb::conformance
