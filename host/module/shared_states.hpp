// SPDX-License-Identifier: Apache-2.0
// SharedStates: mutable buffers that several methods of a module use in shared arenas, such as a cache that `prefill` fills and
// `decode` reads. Such a buffer stays in the memory of a device if all methods that use it are loaded, and only delegates of that
// device use it. All methods then exchange one pair of buffers (KeptState).
//
// A load writes the initial value of the buffer into memory of the host. So a method that is loaded later takes the buffer to
// memory of the host, with that value, and from there to the device again.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/format/program_view.hpp"
#include "host/module/loaded_method.hpp"

namespace etb::host {

class SharedStates {
 public:
  // Adds a method that was loaded into the arenas, before its first run. It outlives its removal.
  void add(const format::ProgramView& program, std::span<const std::span<std::byte>> arenas,
           LoadedMethod& method);
  void remove(const LoadedMethod& method) noexcept;

 private:
  // Planned memory of a value.
  struct Region {
    const std::byte* data;
    uint64_t nbytes;
    bool is_initialised = false;  // by a load
    bool overlaps(const Region& other) const noexcept {
      return data < other.data + other.nbytes && other.data < data + nbytes;
    }
    bool is_same(const Region& other) const noexcept { return data == other.data && nbytes == other.nbytes; }
  };
  struct Plan {
    std::string method;
    std::vector<Region> regions;
  };
  struct Loaded {
    LoadedMethod* method;
    std::vector<StateCandidate> candidates;  // not kept yet
    bool is_changed = false;                 // one was kept by this add()
  };
  struct Shared {
    Region region;
    DeviceState* state;
    std::vector<const LoadedMethod*> users;
  };

  static std::vector<Plan> plans_of(const format::ProgramView& program,
                                    std::span<const std::span<std::byte>> arenas);
  const Plan* find_plan(std::string_view method) const noexcept;
  Loaded* find_loaded(std::string_view method) noexcept;
  // True if the method uses no memory of the region, or all of it as a buffer with an initial value.
  static bool suits(const Plan& plan, const Region& region, bool& out_uses);
  void join(Shared& shared, Loaded& loaded);
  void keep(const Region& region);
  // Lets a method keep the candidate of a region.
  bool keep_in(Loaded& loaded, const Region& region, DeviceState** state);

  std::vector<Plan> plans_;  // of all methods
  std::vector<Loaded> loaded_;
  std::vector<Shared> shared_;
};

}  // namespace etb::host
