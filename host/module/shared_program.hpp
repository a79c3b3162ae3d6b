// SPDX-License-Identifier: Apache-2.0
// SharedProgram: a loader and its loaded program, kept alive by all modules that use it.
#pragma once

#include <memory>

#include "api/format/digest.hpp"
#include "etb/cpp/result.hpp"
#include "host/loaders/mmap_loader.hpp"
#include "host/runtime/program.hpp"

namespace etb::host {

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

 private:
  std::shared_ptr<DataLoader> loader_;
  Program program_;
};

}  // namespace etb::host
