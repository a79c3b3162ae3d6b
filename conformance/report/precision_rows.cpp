// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/precision_rows.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace etb::conformance {
namespace {

using nlohmann::json;

// A larger error is no approximation of the function.
constexpr double kMostUlps = 256;
constexpr double kMostOfACode = 0.5;
constexpr double kLeastRange = 1e4;

tl::unexpected<Error> bad(size_t number, const std::string& what) {
  return make_error(Code::INVALID_DATA, "manifest: precision[" + std::to_string(number) + "]: " + what);
}

std::optional<etb_dtype> find_float(const json& text) {
  for (const etb_dtype dtype : {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT64, ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16})
    if (text.is_string() && text.get<std::string>() == short_name(dtype)) return dtype;
  return std::nullopt;
}

std::optional<etb_dtype> find_dtype(const json& text) {
  for (const etb_dtype dtype : {ETB_DTYPE_INT8, ETB_DTYPE_UINT8, ETB_DTYPE_INT16})
    if (text.is_string() && text.get<std::string>() == short_name(dtype)) return dtype;
  return find_float(text);
}

// True if a row of codes declares nothing but codes.
bool declares_codes_only(const PrecisionRow& row) {
  return row.codes > 0 && !row.accumulator && row.ulps == 0 && row.ulps_of_one == 0 &&
         !row.flushes_subnormals && !row.is_finite_only && row.largest == PrecisionRow{}.largest;
}

Status read_lists(const json& object, size_t number, PrecisionRow& out) {
  if (const auto ops = object.find("ops"); ops != object.end()) {
    if (!ops->is_array()) return bad(number, "'ops' is no list");
    for (const json& op : *ops) {
      if (!op.is_string()) return bad(number, "an op that is no text");
      out.ops.push_back(op.get<std::string>());
    }
  }
  if (const auto dtypes = object.find("dtypes"); dtypes != object.end()) {
    if (!dtypes->is_array()) return bad(number, "'dtypes' is no list");
    for (const json& dtype : *dtypes) {
      const auto found = find_dtype(dtype);
      if (!found)
        return bad(number, "dtype " + dtype.dump().substr(0, 40) +
                               ", expected f16, bf16, f32, f64, or of codes i8, u8, i16");
      out.dtypes.push_back(*found);
    }
  }
  return {};
}

Result<PrecisionRow> read_row(const json& object, size_t number) {
  if (!object.is_object()) return bad(number, "no object");
  PrecisionRow out;
  ETB_TRY(read_lists(object, number, out));
  for (const auto& [key, value] : object.items()) {
    if (key == "ops" || key == "dtypes" || key == "reason") continue;
    if (key == "accumulator") {
      out.accumulator = find_float(value);
      if (!out.accumulator) return bad(number, "accumulator, expected f16, bf16 or f32");
    } else if (key == "ulps" || key == "ulps_of_one") {
      if (!value.is_number() || !(value.get<double>() > 0) || value.get<double>() > kMostUlps)
        return bad(number, "'" + key + "', expected a number up to 256");
      (key == "ulps" ? out.ulps : out.ulps_of_one) = value.get<double>();
    } else if (key == "codes") {
      if (!value.is_number() || !(value.get<double>() > 0) || value.get<double>() > kMostOfACode)
        return bad(number, "'codes', expected a number up to 0.5");
      out.codes = value.get<double>();
    } else if (key == "largest") {
      if (!value.is_number() || value.get<double>() < kLeastRange)
        return bad(number, "'largest', expected a number from 10000 on");
      out.largest = value.get<double>();
    } else if (key == "ftz" || key == "finite_only") {
      if (!value.is_boolean()) return bad(number, "'" + key + "', expected true or false");
      (key == "ftz" ? out.flushes_subnormals : out.is_finite_only) = value.get<bool>();
    } else {
      return bad(number, "unknown key '" + key + "'");
    }
  }
  for (const etb_dtype dtype : out.dtypes)
    if (!is_floating(dtype) && !declares_codes_only(out))
      return bad(number, std::string("dtype ") + short_name(dtype) + ", expected 'codes' as the only limit");
  if (out.codes > 0 && out.ops.empty()) return bad(number, "'codes' without 'ops'");
  return out;
}

}  // namespace

Result<std::vector<PrecisionRow>> parse_precision_rows(const std::string& manifest_text) {
  const json manifest = json::parse(manifest_text, nullptr, false);
  std::vector<PrecisionRow> out;
  if (!manifest.is_object()) return make_error(Code::INVALID_DATA, "manifest: no JSON object");
  const auto rows = manifest.find("precision");
  if (rows == manifest.end()) return out;
  if (!rows->is_array()) return make_error(Code::INVALID_DATA, "manifest: 'precision' is no list");
  for (const json& object : *rows) {
    ETB_ASSIGN(PrecisionRow row, read_row(object, out.size()));
    out.push_back(std::move(row));
  }
  return out;
}

Result<std::vector<PrecisionRow>> read_precision_rows(const std::string& manifest_path) {
  if (manifest_path.empty()) return std::vector<PrecisionRow>{};
  std::ifstream in(manifest_path, std::ios::binary);
  if (!in) return make_error(Code::NOT_FOUND, "cannot read '" + manifest_path + "'");
  std::ostringstream text;
  text << in.rdbuf();
  return parse_precision_rows(text.str());
}

}  // namespace etb::conformance
