// SPDX-License-Identifier: Apache-2.0
// Runs one pass over a module given as text, and returns the text of the result.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "partitioner_sdk/ir/text.hpp"
#include "partitioner_sdk/ir/verify.hpp"

namespace etb::testing {

// Returns "unchanged" when the pass reports no change; the text must then be equal.
template <class Pass>
std::string after_pass(const std::string& text, Pass pass) {
  auto module = ir::parse(text);
  if (!module) return "parse: " + module.error().message;
  const std::string before = ir::print(*module);
  const Result<bool> changed = pass(*module);
  if (!changed) return "error: " + changed.error().message;
  if (const Status verified = ir::verify(*module); !verified) return verified.error().message;
  const std::string after = ir::print(*module);
  EXPECT_EQ(*changed, after != before) << after;
  return *changed ? after : "unchanged";
}

// The same for the lines of one graph, without the header of a module.
template <class Pass>
std::string after_pass_of_graph(const std::string& lines, Pass pass) {
  return after_pass("etg 1\nmodule \"m\"\n\ngraph @forward {\n" + lines + "}\n", pass);
}

}  // namespace etb::testing
