// SPDX-License-Identifier: Apache-2.0
// SharedProgram: a loader and its loaded program, kept alive by all modules that use it.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "api/format/digest.hpp"
#include "etb/cpp/result.hpp"
#include "host/loaders/mmap_loader.hpp"
#include "host/runtime/program.hpp"

namespace etb::host {

class OpenFiles;

class SharedProgram {
 public:
  SharedProgram(std::shared_ptr<DataLoader> loader) noexcept : loader_(std::move(loader)) {}
  SharedProgram(const SharedProgram&) = delete;
  SharedProgram& operator=(const SharedProgram&) = delete;

  [[nodiscard]] etb_status load(etb_error* error) noexcept { return program_.load(*loader_, error); }
  const Program& program() const noexcept { return program_; }
  void rest() const noexcept { loader_->rest(); }
  // Without bytes if the program's file is not mapped. Valid as long as this object.
  FileMapping mapped_file() const noexcept;
  // Reads the whole file.
  [[nodiscard]] Result<format::Sha256> digest() const;

  // The program with data files, as living modules have opened them.
  struct OpenedFiles {
    std::mutex mutex;
    std::vector<std::weak_ptr<const OpenFiles>> files;
  };
  OpenedFiles& opened_files() const noexcept { return opened_files_; }

 private:
  std::shared_ptr<DataLoader> loader_;
  Program program_;
  mutable OpenedFiles opened_files_;
};

}  // namespace etb::host
