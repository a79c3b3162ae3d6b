#include "host/module/kernel_library.hpp"

#include <dlfcn.h>

namespace etb::host {

Result<std::shared_ptr<const KernelLibrary>> KernelLibrary::open(const std::string& path) {
  if (path.find('/') == std::string::npos) {
    return make_error(Code::INVALID_ARGUMENT,
                      "kernel library '" + path + "': a path with a folder is expected, nothing is searched");
  }
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return make_error(Code::ACCESS_FAILED, std::string("kernel library: ") + ::dlerror());
  const std::shared_ptr<KernelLibrary> library(new KernelLibrary(handle));
  using Query = const KernelLibraryTable* (*)();
  const auto query = reinterpret_cast<Query>(::dlsym(handle, "etb_kernel_library"));
  if (query == nullptr) {
    return make_error(Code::INVALID_DATA, "kernel library '" + path + "': exports no etb_kernel_library");
  }
  const KernelLibraryTable& table = *query();
  if (table.layout != kKernelLayout) {
    return make_error(Code::INCOMPATIBLE,
                      "kernel library '" + path + "': built from other headers than this program");
  }
  library->rows_ = {table.rows, static_cast<size_t>(table.row_count)};
  return library;
}

KernelLibrary::~KernelLibrary() { ::dlclose(handle_); }

}  // namespace etb::host
