// SPDX-License-Identifier: Apache-2.0
// Reads a torch.export archive (.pt2), or the exported graph of a record with weights (.etrecord), into the compiler's
// graph. The file stays mapped: weights are views
// of its bytes. Everything is checked. One error lists all defects, each with its line of Python.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "partitioner_sdk/import/mapped_file.hpp"
#include "partitioner_sdk/ir/module.hpp"

namespace etb::pt2 {

struct ImportOptions {
  std::string model;                                      // name, if there are several; may be empty for one
  std::shared_ptr<const ops::CustomOps> custom_ops = {};  // custom ops of the model; may be null
};

[[nodiscard]] Result<ir::Module> import_archive(const std::string& path, const ImportOptions& options = {});
[[nodiscard]] Result<ir::Module> import_archive(std::shared_ptr<const MappedFile> file,
                                                const ImportOptions& options = {});

}  // namespace etb::pt2
