// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/precision_rows.hpp"

#include <gtest/gtest.h>

namespace etb::conformance {
namespace {

Result<std::vector<PrecisionRow>> parse(const std::string& row) {
  return parse_precision_rows("{\"precision\": [" + row + "]}");
}

TEST(PrecisionRows, CodesAreDeclaredForTheirTypesAndOps) {
  const auto rows =
      parse(R"({"ops": ["aten.tanh.default"], "dtypes": ["i16"], "codes": 0.5, "reason": "samples"})");
  ASSERT_TRUE(rows) << rows.error().message;
  PrecisionContract contract;
  contract.rows = *rows;
  EXPECT_EQ(contract.narrowed({"aten.tanh.default"}, ETB_DTYPE_INT16).codes, 0.5);
  EXPECT_EQ(contract.narrowed({"aten.tanh.default"}, ETB_DTYPE_INT8).codes, 0);
  EXPECT_EQ(contract.narrowed({"aten.sigmoid.default"}, ETB_DTYPE_INT16).codes, 0);
}

TEST(PrecisionRows, RowsThatAreRefused) {
  const std::pair<const char*, const char*> kRows[] = {
      {R"({"dtypes": ["i16"], "ulps": 4})", "dtype i16, expected 'codes'"},
      {R"({"ops": ["aten.tanh.default"], "dtypes": ["i16"], "codes": 0.5, "ulps": 4})",
       "dtype i16, expected 'codes'"},
      {R"({"ops": ["aten.tanh.default"], "dtypes": ["i8"], "codes": 0.5, "ftz": true})",
       "dtype i8, expected 'codes'"},
      {R"({"ops": ["aten.tanh.default"], "dtypes": ["i32"], "codes": 0.5})", "dtype \"i32\", expected"},
      {R"({"ops": ["aten.tanh.default"], "dtypes": ["i16"], "codes": 0.6})", "'codes', expected"},
      {R"({"dtypes": ["i16"], "codes": 0.5})", "'codes' without 'ops'"},
      {R"({"accumulator": "i16"})", "accumulator, expected"},
      {R"({"dtypes": "f16", "ulps": 4})", "'dtypes' is no list"},
      {R"({"ulps": 257})", "'ulps', expected"}};
  for (const auto& [row, text] : kRows) {
    const auto parsed = parse(row);
    ASSERT_FALSE(parsed) << row;
    EXPECT_NE(parsed.error().message.find(text), std::string::npos) << parsed.error().message;
  }
}

}  // namespace
}  // namespace etb::conformance
