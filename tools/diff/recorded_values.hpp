// SPDX-License-Identifier: Apache-2.0
// Tensors that a run wrote to its profile (.etdp) and debug buffer, as values of a model.
#pragma once

#include <map>
#include <string>

#include "tools/diff/model.hpp"

namespace etb::diff {

struct ProfileFiles {
  std::string profile;       // .etdp
  std::string debug_buffer;  // elements of its tensors
  std::string record;        // .etrecord: the nodes of its instructions
};

// Reads the values of the last run. A tensor belongs to the value of its instruction's nodes, or of the nodes after them
// that a pass merged with them, that has its dtype and sizes and is nearest to the run of the model. INVALID_DATA names
// the file, what was found and what was expected; a record of another program is rejected.
[[nodiscard]] Result<std::map<ir::ValueId, TensorData>> read_recorded_values(const Model& model,
                                                                             const ProfileFiles& files);

}  // namespace etb::diff
