// SPDX-License-Identifier: Apache-2.0
#include "plugins/vulkan/kept_libraries.hpp"

#include <dlfcn.h>
#include <link.h>

namespace etb::vulkan {

namespace {

std::set<std::string> loaded_libraries() {
  std::set<std::string> names;
  const auto add = [](dl_phdr_info* info, size_t, void* out) {
    if (info->dlpi_name != nullptr && *info->dlpi_name != '\0')
      static_cast<std::set<std::string>*>(out)->insert(info->dlpi_name);
    return 0;
  };
  (void)dl_iterate_phdr(add, &names);
  return names;
}

}  // namespace

KeptLibraries::KeptLibraries() : before_(loaded_libraries()) {}

void KeptLibraries::keep() const {
  for (const std::string& name : loaded_libraries()) {
    if (before_.count(name) != 0) continue;
    if (void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD | RTLD_NODELETE);
        library != nullptr)
      (void)dlclose(library);
  }
}

}  // namespace etb::vulkan
