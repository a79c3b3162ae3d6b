// SPDX-License-Identifier: Apache-2.0
// The tensors of another archive of the same network, such as the float network of a quantised model, as values of
// the model.
#pragma once

#include <map>

#include "tools/diff/model.hpp"

namespace etb::diff {

// Runs `archive` node by node on the inputs of the model's run, and assigns its tensors to values of the model: the nodes of
// both with the same op and source line in the same order, else those with the same op and name. The tensor of a node
// also belongs to the real numbers that the model's quantisations of it return. A normalisation that only the archive has is
// part of the node before it.
[[nodiscard]] Result<std::map<ir::ValueId, TensorData>> read_archive_values(const Model& model,
                                                                            const std::string& archive,
                                                                            const ModelOptions& options);

// True if only the first of two archives has quantisations.
[[nodiscard]] Result<bool> is_quantised_and_other_is_not(const std::string& archive,
                                                         const std::string& other);

}  // namespace etb::diff
