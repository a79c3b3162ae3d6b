#include "conformance/judge/contract.hpp"

namespace etb::conformance {
namespace {

Result<etb_dtype> parse_float(const std::string& text) {
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16})
    if (text == short_name(dtype)) return dtype;
  return make_error(Code::INVALID_ARGUMENT, "precision '" + text + "', expected f32, f16 or bf16");
}

}  // namespace

etb_dtype PrecisionContract::inputs_of(etb_dtype dtype) const {
  return dtype == ETB_DTYPE_FLOAT32 ? inputs : dtype;
}

etb_dtype PrecisionContract::accumulator_of(etb_dtype dtype) const {
  return dtype == ETB_DTYPE_FLOAT64 ? dtype : accumulator;
}

Result<PrecisionContract> parse_contract(const std::string& text) {
  PrecisionContract out;
  std::string rest = text;
  if (rest.size() > 4 && rest.substr(rest.size() - 4) == ":ftz") {
    out.flushes_subnormals = true;
    rest.resize(rest.size() - 4);
  }
  const size_t colon = rest.find(':');
  ETB_ASSIGN(out.inputs, parse_float(rest.substr(0, colon)));
  out.accumulator = out.inputs;
  if (colon != std::string::npos) {
    ETB_ASSIGN(out.accumulator, parse_float(rest.substr(colon + 1)));
  }
  return out;
}

std::string to_text(const PrecisionContract& contract) {
  std::string text = short_name(contract.inputs);
  if (contract.accumulator != contract.inputs) text += std::string(":") + short_name(contract.accumulator);
  return text + (contract.flushes_subnormals ? ":ftz" : "");
}

}  // namespace etb::conformance
