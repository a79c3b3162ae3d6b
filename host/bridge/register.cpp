// SPDX-License-Identifier: Apache-2.0
// The C functions of etb/bridge/register.h, and the registration when the library is loaded.
#include "etb/bridge/register.h"

#include <deque>
#include <mutex>

#include "etb/cpp/guard.hpp"
#include "host/bridge/executorch_backend.hpp"

namespace {

using etb::Code;
using etb::make_error;
using etb::Result;
using etb::Status;
using etb::host::Bridge;
using etb::host::BridgeOptions;
using etb::host::ExecutorchBackend;

// The run time's table of backends is a global of the process, and so is this. Never destroyed: the run time has
// pointers into it until the process ends.
struct Process {
  std::mutex mutex;  // guards the members below
  std::deque<ExecutorchBackend> backends;
  std::unique_ptr<Bridge> bridge;
};

Process& process() {
  static Process* const made = new Process;
  return *made;
}

Result<BridgeOptions> options_of_process() {
  return etb::host::read_bridge_options(etb::host::read_environment);
}

// Makes the bridge with the first delegate, because a process that only loads this library needs no threads.
Result<Bridge*> find_bridge() {
  Process& own = process();
  const std::lock_guard lock(own.mutex);
  if (own.bridge == nullptr) {
    ETB_ASSIGN(const BridgeOptions options, options_of_process());
    own.bridge = std::make_unique<Bridge>(etb::host::installed_plugins(), options);
  }
  return own.bridge.get();
}

Status add_backend(Process& own, const std::string& name, const std::string& backend_id) {
  using namespace executorch::runtime;
  for (const ExecutorchBackend& backend : own.backends)
    if (backend.name() == name) return {};
  if (get_backend_class(name.c_str()) != nullptr)
    return make_error(Code::ALREADY_EXISTS,
                      "'" + name +
                          "': the run time already has a backend of this name\nhint: load the "
                          "bridge earlier (LD_PRELOAD), or use another name (ETB_BRIDGE_ALIASES)");
  own.backends.emplace_back(name, backend_id, &find_bridge);
  const executorch::runtime::Error status =
      register_backend({own.backends.back().name().c_str(), &own.backends.back()});
  if (status == executorch::runtime::Error::Ok) return {};
  own.backends.pop_back();
  return make_error(Code::OUT_OF_RESOURCES,
                    "'" + name + "': the run time rejected the backend: " + to_string(status) + " with " +
                        std::to_string(get_num_registered_backends()) + " backends registered");
}

Status register_all() {
  ETB_ASSIGN(const BridgeOptions options, options_of_process());
  const std::vector<std::string> ids = etb::host::find_delegate_ids(etb::host::installed_plugins());
  Process& own = process();
  const std::lock_guard lock(own.mutex);
  Status first;
  const auto add = [&](const std::string& name, const std::string& id) {
    Status status = add_backend(own, name, id);
    if (status) return;
    if (!first) status.error().message += "; " + first.error().message;
    first = std::move(status);
  };
  for (const auto& [name, id] : options.aliases) add(name, id);
  for (const std::string& id : ids) add(id, id);
  return first;
}

// Runs after the initialisers of the run time, which this library needs. A message is no failure of the process: a
// program may not use the id.
__attribute__((constructor)) void register_at_load() {
  etb_error error = ETB_ERROR_INIT;
  const etb_status status = etb::guard(&error, [&]() -> Status {
    ETB_ASSIGN(const BridgeOptions options, options_of_process());
    return options.registers_at_load ? register_all() : Status();
  });
  if (status != ETB_OK) ET_LOG(Error, "etbackend bridge: %s", error.text);
}

}  // namespace

etb_status ETB_CALL etb_bridge_register(etb_error* error) {
  return etb::guard(error, [] { return register_all(); });
}

etb_status ETB_CALL etb_bridge_register_as(const char* name, const char* backend_id, etb_error* error) {
  return etb::guard(error, [&]() -> Status {
    if (name == nullptr || backend_id == nullptr || *name == '\0' || *backend_id == '\0')
      return make_error(Code::INVALID_ARGUMENT, "name or delegate id is NULL or empty, expected both");
    const std::vector<std::string> ids = etb::host::find_delegate_ids(etb::host::installed_plugins());
    if (std::find(ids.begin(), ids.end(), backend_id) == ids.end())
      return make_error(Code::NOT_FOUND, "no plugin found has the delegate id '" + std::string(backend_id) +
                                             "'\nhint: ETBACKEND_PATH names folders of plugins");
    Process& own = process();
    const std::lock_guard lock(own.mutex);
    return add_backend(own, name, backend_id);
  });
}

const char* ETB_CALL etb_bridge_name(uint32_t index) {
  Process& own = process();
  const std::lock_guard lock(own.mutex);
  return index < own.backends.size() ? own.backends[index].name().c_str() : nullptr;
}

const char* ETB_CALL etb_bridge_last_error(void) { return etb::host::last_bridge_error(); }
