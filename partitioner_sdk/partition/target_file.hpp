// SPDX-License-Identifier: Apache-2.0
// A target of compilation from a file: a device that this machine may lack (etb_target).
//
//   {"target_version": 1, "kind": "dsp", "name": "dsp_small", "attributes": {"tcm_bytes": 262144}}
//
// docs/compiling.md describes the members. `etbackend list --devices --target-dir DIR` writes such files.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "etb/cpp/result.hpp"
#include "etb/device.h"

namespace etb::partition {

class TargetFile {
 public:
  // Errors name the member, with what was found and what was expected.
  [[nodiscard]] static Result<std::shared_ptr<const TargetFile>> parse(std::string_view text);
  TargetFile(const TargetFile&) = delete;
  TargetFile& operator=(const TargetFile&) = delete;

  // Borrows from this object.
  const etb_target& target() const { return target_; }

 private:
  class Parser;
  TargetFile() = default;

  etb_target target_{};
  std::string kind_, name_;
  std::vector<etb_option> attributes_;
  std::deque<std::vector<etb_option>> items_;  // of attributes that are lists
  std::deque<std::string> texts_;
};

}  // namespace etb::partition
