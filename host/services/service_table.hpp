// What a plugin's get_service finds: services by id, and the host struct that carries them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "etb/host.h"

namespace etb::host {

// Services by id. Filled before init, read-only afterwards; the tables that it names outlive the plugin's deinit.
class ServiceTable {
 public:
  // `application` is asked first: what a program serves itself stands before what this host brings. It outlives this.
  explicit ServiceTable(const etb_host* application = nullptr) : application_(application) {}

  // Adds a service, or replaces the one of this id. `id` and `table` are borrowed.
  void add(const char* id, const void* table);

  // The table, or NULL for an unknown id (ABI-EXT-01).
  const void* find(const char* id) const noexcept;

 private:
  struct Row {
    std::string_view id;
    const void* table;
  };
  const etb_host* application_;
  std::vector<Row> rows_;
};

// An etb_host and the texts it points to. Stays where it was made.
class HostRecord {
 public:
  // `flags` are ETB_HOST_*; `services` outlives this. `application` may give another name and version.
  HostRecord(const ServiceTable& services, std::string plugin_dir, uint32_t flags = 0,
             const etb_host* application = nullptr);
  HostRecord(const HostRecord&) = delete;
  HostRecord& operator=(const HostRecord&) = delete;

  const etb_host& host() const noexcept { return host_; }

  // For a chain of layers: what init of its outermost table is given.
  void set_layer_link(const etb_layer_link* link) noexcept { host_.layer_link = link; }

 private:
  std::string plugin_dir_;
  etb_host host_{};
};

}  // namespace etb::host
