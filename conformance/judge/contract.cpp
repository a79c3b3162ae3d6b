// SPDX-License-Identifier: Apache-2.0
#include "conformance/judge/contract.hpp"

#include <algorithm>

#include "conformance/cases/case.hpp"

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

PrecisionContract PrecisionContract::narrowed(const std::vector<std::string>& ops, etb_dtype dtype) const {
  PrecisionContract out = *this;
  out.rows.clear();
  for (const PrecisionRow& row : rows) {
    const bool fits_dtype = row.dtypes.empty()
                                ? is_floating(dtype) || row.codes > 0
                                : std::find(row.dtypes.begin(), row.dtypes.end(), dtype) != row.dtypes.end();
    bool fits_op = row.ops.empty();
    for (const std::string& op : ops)
      for (const std::string& pattern : row.ops) fits_op = fits_op || matches_pattern(op, pattern);
    if (!fits_dtype || !fits_op) continue;
    if (row.accumulator) out.accumulator = *row.accumulator;
    out.ulps = std::max(out.ulps, row.ulps);
    out.ulps_of_one = std::max(out.ulps_of_one, row.ulps_of_one);
    out.flushes_subnormals = out.flushes_subnormals || row.flushes_subnormals;
    out.largest = std::min(out.largest, row.largest);
    out.codes = std::max(out.codes, row.codes);
    out.is_finite_only = out.is_finite_only || row.is_finite_only;
  }
  return out;
}

std::string to_text(const PrecisionRow& row) {
  std::string text;
  for (const std::string& op : row.ops) text += (text.empty() ? "" : "|") + op;
  if (text.empty()) text = "*";
  for (const etb_dtype dtype : row.dtypes) text += std::string(" ") + short_name(dtype);
  if (row.accumulator) text += std::string(" in ") + short_name(*row.accumulator);
  const auto number = [](double value) {
    std::string out = std::to_string(value);
    out.erase(out.find_last_not_of('0') + 1);
    if (out.back() == '.') out.pop_back();
    return out;
  };
  if (row.ulps > 0) text += " " + number(row.ulps) + " ulp";
  if (row.ulps_of_one > 0) text += " " + number(row.ulps_of_one) + " ulp of 1";
  if (row.codes > 0) text += " " + number(row.codes) + " of a code";
  if (row.flushes_subnormals) text += " ftz";
  if (row.largest < HUGE_VAL) text += " up to " + std::to_string(std::ilogb(row.largest)) + " binary digits";
  if (row.is_finite_only) text += " finite";
  return text;
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
