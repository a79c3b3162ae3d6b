// The host's services as the plugin gets them: not used after deinit, memory given back once and completely.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>

#include "host/layers/validate/call.hpp"

namespace etb::host::validate {

class WatchedServices {
 public:
  // Puts itself in front of the services of `host`, which is the copy that the next init gets.
  WatchedServices(State& state, etb_host& host);
  WatchedServices(const WatchedServices&) = delete;
  WatchedServices& operator=(const WatchedServices&) = delete;

  // The plugin is deinitialised: what it holds is a leak (ABI-HYG-03), what it asks for is too late.
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
  std::mutex mutex_;  // guards what follows
  bool is_ended_ = false;
  std::unordered_map<void*, Held> held_;
};

}  // namespace etb::host::validate
