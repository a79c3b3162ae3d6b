// SPDX-License-Identifier: Apache-2.0
#include "host/services/service_table.hpp"

#include <utility>

#include "etb/version.h"

#define ETB_TEXT_(value) #value
#define ETB_TEXT(value) ETB_TEXT_(value)

namespace etb::host {
namespace {

constexpr char kVersion[] =
    ETB_TEXT(ETB_VERSION_MAJOR) "." ETB_TEXT(ETB_VERSION_MINOR) "." ETB_TEXT(ETB_VERSION_PATCH);

const void* ETB_CALL get_service(const etb_host* host, const char* id) {
  return id == nullptr ? nullptr : static_cast<const ServiceTable*>(host->ctx)->find(id);
}

}  // namespace

void ServiceTable::add(const char* id, const void* table) {
  for (Row& row : rows_)
    if (row.id == id) {
      row.table = table;
      return;
    }
  rows_.push_back({id, table});
}

const void* ServiceTable::find(const char* id) const noexcept {
  if (application_ != nullptr && application_->get_service != nullptr)
    if (const void* const table = application_->get_service(application_, id)) return table;
  for (const Row& row : rows_)
    if (row.id == id) return row.table;
  return nullptr;
}

HostRecord::HostRecord(const ServiceTable& services, std::string plugin_dir, uint32_t flags,
                       const etb_host* application)
    : plugin_dir_(std::move(plugin_dir)) {
  host_.struct_size = sizeof(host_);
  host_.flags = flags;
  host_.abi_version = ETB_ABI_VERSION;
  host_.name = application != nullptr && application->name != nullptr ? application->name : "etbackend";
  host_.version = application != nullptr && application->version != nullptr ? application->version : kVersion;
  host_.plugin_dir = plugin_dir_.c_str();
  host_.ctx = const_cast<ServiceTable*>(&services);
  host_.get_service = &get_service;
}

}  // namespace etb::host
