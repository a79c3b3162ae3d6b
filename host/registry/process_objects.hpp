// SPDX-License-Identifier: Apache-2.0
// Lists all objects that the dynamic loader has in this process.
#pragma once

#include <string>
#include <vector>

namespace etb::host {

struct ProcessObject {
  std::string path;               // as the loader knows it; "" for the program itself
  std::string soname;             // "" when it has none
  const void* dynamic = nullptr;  // its dynamic section, which identifies it
};

// Returns them in the loader's order. When two objects have one SONAME, libraries that need
// that name use the first.
std::vector<ProcessObject> process_objects();

}  // namespace etb::host
