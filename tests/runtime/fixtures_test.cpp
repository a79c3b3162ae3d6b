// SPDX-License-Identifier: Apache-2.0
// Tests that the official exporter's programs compute PyTorch's results: every call recorded under
// tests/fixtures/programs.
#include "tests/runtime/recorded_calls.hpp"

namespace etb::tools {
namespace {

class Fixture : public testing::TestWithParam<std::string> {};

TEST_P(Fixture, GivesPyTorchsNumbers) {
  expect_recorded_numbers(fs::path(ETB_SOURCE_DIR) / "tests/fixtures/programs", GetParam());
}

INSTANTIATE_TEST_SUITE_P(Official, Fixture,
                         testing::Values("add", "linear", "conv", "cond", "map", "dynamic", "dynamic_view",
                                         "counter", "methods", "types", "unplanned", "external", "complex"),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace etb::tools
