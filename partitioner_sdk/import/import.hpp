// From a torch.export archive (.pt2) to the compiler's graph. The archive's bytes are mapped and stay so: weights are views of
// them. Everything is checked; what is wrong is listed in one error, each with its line of Python.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "partitioner_sdk/import/mapped_file.hpp"
#include "partitioner_sdk/ir/module.hpp"

namespace etb::pt2 {

struct ImportOptions {
  std::string model;                                // which of several; may be empty when there is one
  std::shared_ptr<const ops::OwnOps> own_ops = {};  // that the model may use beside PyTorch's
};

[[nodiscard]] Result<ir::Module> import_archive(const std::string& path, const ImportOptions& options = {});
[[nodiscard]] Result<ir::Module> import_archive(std::shared_ptr<const MappedFile> file,
                                                const ImportOptions& options = {});

// Names of the models inside.
[[nodiscard]] Result<std::vector<std::string>> list_models(const MappedFile& file);

}  // namespace etb::pt2
