// SPDX-License-Identifier: Apache-2.0
// Reads tensors by name from a torch.save file (a pickle and its storages in a zip). Archives of torch 2.8
// and before store weights this way. No code of the pickle is executed; only dicts of tensors are supported.
#pragma once

#include <map>
#include <span>
#include <string>

#include "partitioner_sdk/import/pickle.hpp"
#include "partitioner_sdk/import/zip_archive.hpp"
#include "partitioner_sdk/ir/module.hpp"

namespace etb::pt2 {

// The object of a torch.save file. Views of `file`.
struct SavedObject {
  [[nodiscard]] static Result<SavedObject> open(std::span<const std::byte> file);
  Pickle pickle;
};

// Returns views of `file`, not checked against the size of their storage. The caller sets their names and
// owner.
[[nodiscard]] Result<std::map<std::string, ir::Constant, std::less<>>> read_saved_tensors(
    std::span<const std::byte> file);

}  // namespace etb::pt2
