// SPDX-License-Identifier: Apache-2.0
// BundleFile: a bundled program (.bpte) in memory, verified.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "api/format/bundled_program_view.hpp"
#include "host/module/module.hpp"

namespace etb::host {

class BundleFile {
 public:
  [[nodiscard]] static Result<BundleFile> open(const std::string& path, LoadMode mode = LoadMode::kMmap);
  // `bytes` outlive the file and start on a 16-byte boundary.
  [[nodiscard]] static Result<BundleFile> from_bytes(std::span<const std::byte> bytes);

  // Valid during the life of the file, also after a move.
  const format::BundledProgramView& view() const noexcept { return view_; }

 private:
  BundleFile() = default;
  Status read(std::span<const std::byte> bytes);

  std::shared_ptr<const void> memory_;  // of the bytes, unless they are the caller's
  format::BundledProgramView view_;
};

}  // namespace etb::host
