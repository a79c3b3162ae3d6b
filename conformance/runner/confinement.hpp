// What a child process is cut off from: the network, and other children's temporary files.
#pragma once

#include <string>

#include "etb/cpp/result.hpp"

namespace etb::conformance {

// From now on this process has no network but a loopback device that is down. Only while it has one thread.
[[nodiscard]] Status leave_network();

// Whether a child could; found out by one that tries.
[[nodiscard]] Status can_leave_network();

// A folder of its own under TMPDIR, for the child's TMPDIR; gone with all that is in it afterwards.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }  // "" where none could be made

 private:
  std::string path_;
};

}  // namespace etb::conformance
