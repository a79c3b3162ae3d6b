// SPDX-License-Identifier: Apache-2.0
// Tests that the case runner detects wrong values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/opinfo/case_file.hpp"

namespace etb::tests {
namespace {
using host::Dtype;

struct Pair {
  OwnedTensor actual{Dtype::FLOAT32, {2}, {0}, host::Dynamism::kStatic};
  OwnedTensor expected{Dtype::FLOAT32, {2}, {0}, host::Dynamism::kStatic};
  Case one;
  Pair(float a, float e) {
    actual.tensor().data_as<float>()[0] = expected.tensor().data_as<float>()[0] = 1.0f;
    actual.tensor().data_as<float>()[1] = a;
    expected.tensor().data_as<float>()[1] = e;
  }
  std::string difference() { return compare("test::op", one, actual.tensor(), expected.tensor()); }
};

TEST(Compare, AcceptsFourUlpsAndRefusesFive) {
  EXPECT_EQ(Pair(1.0f + 4 * 0x1.0p-23f, 1.0f).difference(), "");
  EXPECT_NE(Pair(1.0f + 5 * 0x1.0p-23f, 1.0f).difference(), "");
}

TEST(Compare, TellsNanInfinityAndNumbersApart) {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Pair(nan, nan).difference(), "");
  EXPECT_EQ(Pair(infinity, infinity).difference(), "");
  EXPECT_NE(Pair(nan, 1.0f).difference(), "");
  EXPECT_NE(Pair(1.0f, nan).difference(), "");
  EXPECT_NE(Pair(-infinity, infinity).difference(), "");
  EXPECT_NE(Pair(3e38f, infinity).difference(), "");
}

TEST(Compare, MeasuresAccumulatingOpsAgainstTheirScale) {
  Pair pair(1.0f + 20 * 0x1.0p-23f, 1.0f);
  EXPECT_NE(pair.difference(), "");
  pair.one.scale = 1.0;
  EXPECT_EQ(pair.difference(), "");
}

TEST(Compare, NamesPlaceFoundAndExpected) {
  EXPECT_EQ(Pair(2.0f, 3.0f).difference(),
            "1 of 2 float32 elements of [2], the first at 1: 2, expected 3 (scale 0)");
}

// A row is {1 + 2i, 3}; found in the other order, twice the same, and in another row.
TEST(Compare, EigenvaluesHaveNoOrderInARow) {
  const auto difference = [](std::vector<float> found) {
    OwnedTensor actual{Dtype::COMPLEX64, {2, 2}, {0, 1}, host::Dynamism::kStatic};
    OwnedTensor expected{Dtype::COMPLEX64, {2, 2}, {0, 1}, host::Dynamism::kStatic};
    const std::vector<float> wanted = {1, 2, 3, 0, 5, 0, 6, 0};
    std::copy(wanted.begin(), wanted.end(), expected.tensor().data_as<float>());
    std::copy(found.begin(), found.end(), actual.tensor().data_as<float>());
    const Case one;
    return std::pair(compare("aten::linalg_eigvals.out", one, actual.tensor(), expected.tensor()),
                     compare("aten::linalg_lu_solve.out", one, actual.tensor(), expected.tensor()));
  };
  EXPECT_EQ(difference({3, 0, 1, 2, 5, 0, 6, 0}).first, "");
  EXPECT_NE(difference({3, 0, 1, 2, 5, 0, 6, 0}).second, "");
  EXPECT_NE(difference({3, 0, 3, 0, 5, 0, 6, 0}).first, "");
  EXPECT_NE(difference({5, 0, 3, 0, 1, 2, 6, 0}).first, "");
}

TEST(CaseFile, RefusesWhatIsNoCaseFile) { EXPECT_FALSE(read_case_file(__FILE__)); }

}  // namespace
}  // namespace etb::tests
