// SPDX-License-Identifier: Apache-2.0
#include "host/module/shared_states.hpp"

#include <algorithm>
#include <utility>

namespace etb::host {

std::vector<SharedStates::Plan> SharedStates::plans_of(const format::ProgramView& program,
                                                       std::span<const std::span<std::byte>> arenas) {
  using format::Storage;
  std::vector<Plan> out;
  for (uint32_t m = 0; m < program.method_count(); ++m) {
    const format::MethodView method = program.method(m);
    Plan& plan = out.emplace_back(std::string(method.name()), std::vector<Region>());
    for (uint32_t i = 0; i < method.value_count(); ++i) {
      const auto value = method.value(i);
      if (value.kind() != format::ValueKind::kTensor) continue;
      const format::TensorRecord tensor = value.as_tensor();
      const bool is_initialised =
          tensor.storage == Storage::kPlannedInitialized || tensor.storage == Storage::kPlannedExternal;
      if ((!is_initialised && tensor.storage != Storage::kPlanned) || tensor.nbytes == 0) continue;
      plan.regions.push_back(
          {arenas[tensor.memory_id - 1].data() + tensor.memory_offset, tensor.nbytes, is_initialised});
    }
  }
  return out;
}

const SharedStates::Plan* SharedStates::find_plan(std::string_view method) const noexcept {
  const auto found = std::ranges::find(plans_, method, &Plan::method);
  return found == plans_.end() ? nullptr : &*found;
}

SharedStates::Loaded* SharedStates::find_loaded(std::string_view method) noexcept {
  const auto found =
      std::ranges::find_if(loaded_, [&](const Loaded& each) { return each.method->meta().name() == method; });
  return found == loaded_.end() ? nullptr : &*found;
}

// Values without an initial value in the same memory are judged when the method is loaded: KeptState::find().
bool SharedStates::suits(const Plan& plan, const Region& region, bool& out_uses) {
  out_uses = false;
  bool has_buffer = false;
  for (const Region& each : plan.regions) {
    if (!each.overlaps(region)) continue;
    out_uses = true;
    has_buffer = has_buffer || (each.is_same(region) && each.is_initialised);
  }
  return !out_uses || has_buffer;
}

bool SharedStates::keep_in(Loaded& loaded, const Region& region, DeviceState** state) {
  const auto found = std::ranges::find_if(loaded.candidates, [&](const StateCandidate& each) {
    return each.data == region.data && each.nbytes == region.nbytes;
  });
  if (found == loaded.candidates.end() || !loaded.method->keep_state(*found, state)) return false;
  loaded.candidates.erase(found);
  loaded.is_changed = true;
  return true;
}

// The load of the method has written the initial value into memory of the host.
void SharedStates::join(Shared& shared, Loaded& loaded) {
  bool uses = false;
  const Plan* const plan = find_plan(loaded.method->meta().name());
  (void)suits(*plan, shared.region, uses);
  if (!uses) return;
  shared.state->reset();
  if (keep_in(loaded, shared.region, &shared.state))
    shared.users.push_back(loaded.method);
  else
    shared.state->let_go();
}

void SharedStates::keep(const Region& region) {
  std::vector<Loaded*> users;
  for (const Plan& plan : plans_) {
    bool uses = false;
    if (!suits(plan, region, uses)) return;
    if (!uses) continue;
    Loaded* const user = find_loaded(plan.method);
    if (user == nullptr) return;  // decided when it is loaded
    users.push_back(user);
  }
  const bool is_wanted = std::ranges::all_of(users, [&](const Loaded* user) {
    return std::ranges::any_of(user->candidates, [&](const StateCandidate& each) {
      return each.data == region.data && each.nbytes == region.nbytes;
    });
  });
  if (!is_wanted) return;
  Shared made{region, nullptr, {}};
  for (Loaded* const user : users) {
    if (!keep_in(*user, region, &made.state)) {
      if (made.state != nullptr) made.state->let_go();  // those that keep it use memory of the host again
      return;
    }
    made.users.push_back(user->method);
  }
  shared_.push_back(std::move(made));
}

void SharedStates::add(const format::ProgramView& program, std::span<const std::span<std::byte>> arenas,
                       LoadedMethod& method) {
  if (plans_.empty()) plans_ = plans_of(program, arenas);
  loaded_.push_back({&method, method.find_state()});
  for (Shared& shared : shared_) join(shared, loaded_.back());
  std::vector<Region> regions;
  for (const StateCandidate& each : loaded_.back().candidates) regions.push_back({each.data, each.nbytes});
  for (const Region& region : regions) keep(region);
  for (Loaded& each : loaded_)
    if (std::exchange(each.is_changed, false)) each.method->end_keeping();
}

void SharedStates::remove(const LoadedMethod& method) noexcept {
  std::erase_if(loaded_, [&](const Loaded& each) { return each.method == &method; });
  for (Shared& shared : shared_) std::erase(shared.users, &method);
  std::erase_if(shared_, [](const Shared& shared) { return shared.users.empty(); });
}

}  // namespace etb::host
