// SPDX-License-Identifier: Apache-2.0
// UnfinishedFile: the present temporary names, readable by a signal handler.
#pragma once

#include <atomic>
#include <cstddef>

namespace etb::format {

// Registers a name in a folder during its life. When all slots are used the name is not registered: a
// signal would leave the file.
class UnfinishedFile {
 public:
  static constexpr size_t kNameNbytes = 48;

  // `folder` is an open descriptor that outlives this object.
  UnfinishedFile(int folder, const char* name) noexcept;
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

 private:
  size_t slot_;
};

}  // namespace etb::format
