// SPDX-License-Identifier: Apache-2.0
// The ops that the plugin knows by name.
#pragma once

#include <string_view>

#include "etb/cpp/plugin.hpp"
#include "tests/conformance/fault_plugin/program.hpp"

namespace faulty {

struct NamedOp {
  const char* name;
  Op op;
};
const NamedOp* find_op(std::string_view name);

// Returns an argument as a number.
double number_of(const etb::Node& node, const char* name, double otherwise);

}  // namespace faulty
