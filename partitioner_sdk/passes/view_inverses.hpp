// SPDX-License-Identifier: Apache-2.0
// Writes through views: computes the contents of a tensor from new contents of a view of it.
#pragma once

#include <string_view>

#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

struct ViewWrite {
  ValueId parent;                    // the viewed tensor, before the write
  ValueId value;                     // the new contents of the view
  ValueId written;                   // the view itself: one of `results`
  std::span<const ValueId> results;  // results of the node that creates the view
};

struct ViewInverse {
  std::string_view op;
  // Adds nodes and returns the new contents of the parent.
  ValueId (*scatter)(Builder& b, const Call& view, const ViewWrite& write);
};

// Returns the row of an op that creates views, null when there is none.
const ViewInverse* find_view_inverse(std::string_view op);

}  // namespace etb::passes
