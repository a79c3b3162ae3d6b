// SPDX-License-Identifier: Apache-2.0
// The library as a whole in the C API (etb/library.h).
#include "etb/library.h"

#include <algorithm>
#include <new>
#include <string_view>
#include <vector>

#include "etb/version.h"
#include "host/application/errors.hpp"
#include "host/application/handles.hpp"
#include "host/application/process_log.hpp"
#include "host/kernels/portable.hpp"

#define ETB_TEXT_(x) #x
#define ETB_TEXT(x) ETB_TEXT_(x)

namespace {

// Sorted names of the portable kernels; an operator with kernels for several dtypes is there once.
std::vector<const char*> kernel_names() {
  etb::host::KernelRegistry registry;
  (void)add_portable_kernels(registry);
  std::vector<const char*> names;
  registry.for_each([&names](const etb::host::Kernel& kernel) { names.push_back(kernel.name); });
  const auto is_before = [](std::string_view a, std::string_view b) { return a < b; };
  std::sort(names.begin(), names.end(), is_before);
  const auto is_equal = [](std::string_view a, std::string_view b) { return a == b; };
  names.erase(std::unique(names.begin(), names.end(), is_equal), names.end());
  return names;
}

}  // namespace

extern "C" {

const char* ETB_CALL etb_version(void) {
  return ETB_TEXT(ETB_VERSION_MAJOR) "." ETB_TEXT(ETB_VERSION_MINOR) "." ETB_TEXT(ETB_VERSION_PATCH);
}

uint32_t ETB_CALL etb_abi_version(void) { return ETB_ABI_VERSION; }

const char* ETB_CALL etb_status_text(etb_status status) {
  return etb::to_text(static_cast<etb::Code>(status));
}

const char* ETB_CALL etb_last_error(void) { return etb::host::last_error(); }

etb_status ETB_CALL etb_set_log(const etb_log_service* log, etb_error* error) {
  return etb::host::answer(error, [log] { return etb::host::set_process_log(log); });
}

const char* ETB_CALL etb_kernel_name(uint32_t index) {
  try {
    static const std::vector<const char*> names = kernel_names();
    return index < names.size() ? names[index] : nullptr;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void ETB_CALL etb_set_checked(uint32_t is_on) { etb::host::set_checked(is_on != 0); }

}  // extern "C"
