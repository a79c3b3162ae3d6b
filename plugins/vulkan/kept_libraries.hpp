// SPDX-License-Identifier: Apache-2.0
// Keeps the libraries of drivers in the process. The loader closes them with an instance, but some leave functions behind
// that run when a thread ends, and some cannot be opened again (seen with NVIDIA's driver 580: a crash, and no driver after
// some dozens of instances).
#pragma once

#include <set>
#include <string>

namespace etb::vulkan {

class KeptLibraries {
 public:
  KeptLibraries();  // remembers what the process has loaded until now
  // Keeps what was loaded since then until the process ends.
  void keep() const;

 private:
  std::set<std::string> before_;
};

}  // namespace etb::vulkan
