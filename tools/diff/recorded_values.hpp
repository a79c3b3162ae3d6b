// SPDX-License-Identifier: Apache-2.0
// Tensors that a run wrote to its profile (.etdp) and debug buffer, as values of a model.
#pragma once

#include <map>
#include <string>

#include "api/format/etdump.hpp"
#include "tools/diff/model.hpp"

namespace etb::diff {

struct ProfileFiles {
  std::string profile;       // .etdp
  std::string debug_buffer;  // elements of its tensors
  std::string record;        // .etrecord: the nodes of its instructions; "": they are found by op and order
};

struct RecordedValues {
  std::map<ir::ValueId, TensorData> values;
  std::map<ir::ValueId, std::string>
      instructions;  // that computed them: "instruction 5, native_call_relu.out"
};

// Values of a run's events without a record. An operator belongs to the model's node with the same op at the same position
// among all nodes of this op, if both have equally many; the result of a delegate to the value that is nearest.
[[nodiscard]] Result<RecordedValues> assign_values(const Model& model,
                                                   const std::vector<format::EtdumpBlock>& blocks,
                                                   std::span<const std::byte> debug_buffer);

// Returns the instruction that computed a tensor with these bytes, the last one, as above; "" for none.
std::string find_instruction(const std::vector<format::EtdumpBlock>& blocks,
                             std::span<const std::byte> debug_buffer, const TensorData& value);

// Reads the values of the last run. A tensor belongs to the value of its instruction's nodes, or of the nodes after them
// that a pass merged with them, that has its dtype and sizes and is nearest to the run of the model. INVALID_DATA names
// the file, what was found and what was expected; a record of another program is rejected.
[[nodiscard]] Result<RecordedValues> read_recorded_values(const Model& model, const ProfileFiles& files);

}  // namespace etb::diff
