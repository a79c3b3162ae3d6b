// SPDX-License-Identifier: Apache-2.0
#include "host/application/handles.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "host/registry/platform.hpp"
#include "host/registry/search_path.hpp"
#include "host/registry/trusted_file.hpp"

namespace etb::host {
namespace {

struct Living {
  std::mutex mutex;
  std::map<const void*, HandleKind> kinds;
};

// Never destroyed: a handle may be ended by a destructor of the application that runs at exit.
Living& living() {
  static Living* const made = new Living;
  return *made;
}

std::atomic<bool>& checked_flag() {
  static std::atomic<bool> flag = !is_process_secure() && read_environment("ETBACKEND_CHECKED") == "1";
  return flag;
}

const char* to_text(HandleKind kind) {
  return kind == HandleKind::kModule ? "module" : kind == HandleKind::kRegistry ? "registry" : "recording";
}

}  // namespace

void add_handle(const void* handle, HandleKind kind) {
  Living& all = living();
  const std::lock_guard lock(all.mutex);
  all.kinds[handle] = kind;
}

bool remove_handle(const void* handle, HandleKind kind) noexcept {
  Living& all = living();
  const std::lock_guard lock(all.mutex);
  const auto found = all.kinds.find(handle);
  if (found == all.kinds.end() || found->second != kind) return false;
  all.kinds.erase(found);
  return true;
}

Status check_handle(const void* handle, HandleKind kind) {
  if (handle == nullptr) return make_error(Code::INVALID_ARGUMENT, std::string(to_text(kind)) + " is NULL");
  if (!is_checked()) return {};
  Living& all = living();
  const std::lock_guard lock(all.mutex);
  const auto found = all.kinds.find(handle);
  if (found != all.kinds.end() && found->second == kind) return {};
  return make_error(
      Code::INVALID_HANDLE,
      std::string(to_text(kind)) + (found == all.kinds.end() ? ": the handle was ended, or never made"
                                                             : ": the handle is one of another kind"));
}

bool is_checked() noexcept { return checked_flag().load(std::memory_order_relaxed); }
void set_checked(bool is_on) noexcept { checked_flag().store(is_on, std::memory_order_relaxed); }

}  // namespace etb::host
