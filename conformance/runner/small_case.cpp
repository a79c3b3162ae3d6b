#include "conformance/runner/small_case.hpp"

#include "etb/cpp/graph_view.hpp"

namespace etb::conformance {
namespace {

std::string text_of(const Shape& shape) {
  std::string out;
  for (const int64_t size : shape.sizes) out += (out.empty() ? "" : ", ") + std::to_string(size);
  return std::string(short_name(shape.dtype)) + " [" + out + "]";
}

}  // namespace

BuiltCase with_judgement(const SmallCase& small, const BuiltCase& of) {
  BuiltCase out;
  out.image = small.image;
  out.runs = {small.inputs};
  out.judgement = of.judgement;
  out.widen_integers = of.widen_integers;
  return out;
}

std::shared_ptr<const Case> make_case(const Case& of, SmallCase small) {
  return std::make_shared<const Case>(
      Case{of.name, of.op, of.dtype,
           [build = of.build, small = std::move(small)](std::string_view name) -> Result<BuiltCase> {
             ETB_ASSIGN(const BuiltCase built, build(name));
             return with_judgement(small, built);
           }});
}

std::string describe(const SmallCase& small) {
  const Result<graph::View> view = graph::View::open(small.image.span());
  if (!view) return "";
  std::string out;
  for (const graph::Node& node : view->method().nodes())
    out += (out.empty() ? "" : ", then ") + std::string(node.op_name());
  for (const TensorData& input : small.inputs) out += ", " + text_of(input.shape);
  return out;
}

Status check_inputs(const SmallCase& small) {
  ETB_ASSIGN(const graph::View view, graph::View::open(small.image.span()));
  const graph::Graph method = view.method();
  size_t number = 0;
  for (uint32_t i = 0; i < method.inputs().size(); ++i) {
    if (method.input(i).constant != graph::kNone) continue;
    const std::string where = "input " + std::to_string(number);
    if (method.value(i).kind != ETB_GRAPH_VALUE_TENSOR)
      return make_error(Code::INVALID_DATA, where + ": no tensor");
    if (number >= small.inputs.size()) return make_error(Code::INVALID_DATA, where + ": missing");
    const etb_graph_spec spec = method.spec_of(i);
    const TensorData& data = small.inputs[number++];
    bool fits = static_cast<uint32_t>(data.shape.dtype) == static_cast<uint32_t>(spec.dtype) &&
                data.shape.sizes.size() == spec.rank && element_nbytes(data.shape.dtype) != 0;
    uint64_t nbytes = fits ? element_nbytes(data.shape.dtype) : 0;
    for (uint32_t d = 0; fits && d < spec.rank; ++d)
      fits = data.shape.sizes[d] >= 0 && data.shape.sizes[d] <= spec.sizes[d] &&
             !__builtin_mul_overflow(nbytes, static_cast<uint64_t>(data.shape.sizes[d]), &nbytes);
    if (!fits || nbytes != data.bytes.size())
      return make_error(Code::INVALID_DATA, where + ": dtype, sizes or bytes that the graph does not take");
  }
  if (number != small.inputs.size())
    return make_error(Code::INVALID_DATA, "more inputs than the graph takes");
  return {};
}

}  // namespace etb::conformance
