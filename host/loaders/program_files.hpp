// SPDX-License-Identifier: Apache-2.0
// ProgramFiles: keeps the bytes of a program and of its data files in place.
#pragma once

#include <memory>

namespace etb::host {

// Delegates that several modules share hold it, because each of them may outlive the module that made it.
class ProgramFiles : public std::enable_shared_from_this<ProgramFiles> {
 public:
  ProgramFiles(const ProgramFiles&) = delete;
  ProgramFiles& operator=(const ProgramFiles&) = delete;
  virtual ~ProgramFiles() = default;

 protected:
  ProgramFiles() = default;
};

}  // namespace etb::host
