// SPDX-License-Identifier: Apache-2.0
// Names of ops in an archive.
#pragma once

#include <string>
#include <string_view>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::pt2 {

struct OpTarget {
  std::string name;  // "aten.add.Tensor", "" if unknown
  bool is_inlined = false;
  bool is_skipped =
      false;  // computes nothing: a check of the exporter's, or a value that nodes contain already
};

// Parses "torch.ops.aten.add.Tensor", "_operator.add", ...
OpTarget read_target(const ir::Module& module, std::string_view text);

// Returns the position of the argument that an archive calls `name`, -1 if there is none. Functions of Python on symbolic
// numbers call their operand x or number.
int argument_position(const ops::Schema& schema, std::string_view name);

// Returns advice about an unknown op, to append to the error.
const char* advice_for(std::string_view target);

}  // namespace etb::pt2
