// The names by which an archive calls its ops.
#pragma once

#include <string>
#include <string_view>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::pt2 {

struct OpTarget {
  std::string name;  // "aten.add.Tensor", "" when unknown
  bool is_inlined = false;
};

// "torch.ops.aten.add.Tensor", "_operator.add", ...
OpTarget read_target(const ir::Module& module, std::string_view text);

// What to do about an op that is not known, to stand behind what was said of it.
const char* advice_for(std::string_view target);

}  // namespace etb::pt2
