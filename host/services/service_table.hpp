// SPDX-License-Identifier: Apache-2.0
// ServiceTable and HostRecord: services by id for get_service, and the host struct with them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "etb/host.h"

namespace etb::host {

// Services by id. Filled before init, read-only afterwards. The tables in it outlive the plugin's deinit.
class ServiceTable {
 public:
  // Asks `application` first, so that a program's own services replace the host's. It outlives this object.
  explicit ServiceTable(const etb_host* application = nullptr) : application_(application) {}

  // Adds a service, or replaces the one of this id. `id` and `table` are borrowed.
  void add(const char* id, const void* table);

  // Returns the table, or NULL for an unknown id (ABI-EXT-01).
  const void* find(const char* id) const noexcept;

 private:
  struct Row {
    std::string_view id;
    const void* table;
  };
  const etb_host* application_;
  std::vector<Row> rows_;
};

// An etb_host and its texts. Must not move.
class HostRecord {
 public:
  // `flags` are ETB_HOST_*. `services` outlives this object. `application` may replace name and version.
  HostRecord(const ServiceTable& services, std::string plugin_dir, uint32_t flags = 0,
             const etb_host* application = nullptr);
  HostRecord(const HostRecord&) = delete;
  HostRecord& operator=(const HostRecord&) = delete;

  const etb_host& host() const noexcept { return host_; }

  // Sets the link for the init of a chain's outermost table.
  void set_layer_link(const etb_layer_link* link) noexcept { host_.layer_link = link; }

 private:
  std::string plugin_dir_;
  etb_host host_{};
};

}  // namespace etb::host
