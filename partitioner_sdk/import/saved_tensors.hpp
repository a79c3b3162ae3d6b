// Tensors by name as torch.save wrote them, a pickle and its storages in a zip: how archives of torch 2.8 and before keep weights.
// Nothing of the pickle is executed; of all that one could say, only dicts of tensors are understood.
#pragma once

#include <map>
#include <span>
#include <string>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::pt2 {

// Views of `file`, unchecked against the size of their storage; the caller gives them names and an owner.
[[nodiscard]] Result<std::map<std::string, ir::Constant, std::less<>>> read_saved_tensors(
    std::span<const std::byte> file);

}  // namespace etb::pt2
