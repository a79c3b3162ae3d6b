// SPDX-License-Identifier: Apache-2.0
// OpenFiles: a program and the data files of a module. Modules on one program that name the same data files share them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/loaders/file_identity.hpp"
#include "host/loaders/program_files.hpp"
#include "host/module/module.hpp"
#include "host/module/shared_program.hpp"

namespace etb::host {

[[nodiscard]] Result<std::shared_ptr<DataLoader>> open_loader(const std::string& path, LoadMode mode);

class OpenFiles final : public ProgramFiles {
 public:
  // Returns the files of another module on the program if it named these paths in this mode, and each path is still the same
  // file with the same size and time of change. For several threads.
  [[nodiscard]] static Result<std::shared_ptr<const OpenFiles>> open(
      std::shared_ptr<const SharedProgram> program, std::span<const std::string> data_paths, LoadMode mode);

  // Valid during the life of this object.
  std::span<const DataFile* const> data_files() const noexcept { return views_; }
  // As DataLoader::rest(), of all files.
  void rest() const noexcept;

 private:
  // A data file with its loader, declared in order of life.
  struct Item {
    std::string path;
    std::optional<FileIdentity> identity;  // none: another module does not share the file
    std::shared_ptr<DataLoader> loader;
    std::unique_ptr<DataFile> file = std::make_unique<DataFile>();
  };

  OpenFiles(std::shared_ptr<const SharedProgram> program, LoadMode mode)
      : program_(std::move(program)), mode_(mode) {}

  Status add(const std::string& path);
  bool is_of(std::span<const std::string> data_paths, LoadMode mode) const;

  std::shared_ptr<const SharedProgram> program_;
  LoadMode mode_;
  std::vector<Item> items_;
  std::vector<const DataFile*> views_;
};

}  // namespace etb::host
