// The temporary names that exist now, in a form that a signal handler can read.
#pragma once

#include <atomic>
#include <cstddef>

namespace etb::format {

// Notes a name in a folder for as long as this lives. When all slots are taken the name is not noted: a signal would leave the file.
class UnfinishedFile {
 public:
  static constexpr size_t kNameNbytes = 48;

  // `folder` is an open descriptor that outlives this.
  UnfinishedFile(int folder, const char* name) noexcept;
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

 private:
  size_t slot_;
};

}  // namespace etb::format
