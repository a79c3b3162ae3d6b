// SPDX-License-Identifier: Apache-2.0
// The host's services for the plugin: not used after deinit, all memory freed once.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>

#include "host/layers/validate/call.hpp"

namespace etb::host::validate {

class WatchedServices {
 public:
  // Replaces the services of `host`, a copy of the host struct for the next init.
  WatchedServices(State& state, etb_host& host);
  WatchedServices(const WatchedServices&) = delete;
  WatchedServices& operator=(const WatchedServices&) = delete;

  // Called after deinit: memory that the plugin still holds is a leak (ABI-HYG-03), later requests are too
  // late.
  void end(Call& call);

 private:
  const void* find(const char* id);
  void* allocate(uint64_t nbytes, uint64_t alignment, const char* tag);
  void free(void* ptr);
  bool is_late(const char* what);

  struct Held {
    uint64_t nbytes;
    std::string tag;
  };

  State& state_;
  const etb_host real_;
  etb_alloc_service alloc_{};
  const etb_alloc_service* real_alloc_ = nullptr;
  std::mutex mutex_;  // guards the members below
  bool is_ended_ = false;
  std::unordered_map<void*, Held> held_;
};

}  // namespace etb::host::validate
