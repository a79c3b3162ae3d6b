// SPDX-License-Identifier: Apache-2.0
// Weights by layer: sizes of named tensors as a tree of the parts of their names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/pages/document.hpp"

namespace etb::pages {

struct Weight {
  std::string name;    // "features.0.weight"
  std::string detail;  // "float32[32, 3, 3, 3]"
  uint64_t nbytes = 0;
};

// Returns {name, value, detail, children}. Inner nodes have no value.
Json weight_tree(const std::vector<Weight>& weights);

// The part of a page that draws them.
Json weight_part(const std::vector<Weight>& weights, std::string note);

}  // namespace etb::pages
