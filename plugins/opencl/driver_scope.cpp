// SPDX-License-Identifier: Apache-2.0
#include "plugins/opencl/driver_scope.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace etb::opencl {

namespace {

std::vector<std::string> read_environment() {
  std::vector<std::string> made;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) made.emplace_back(*each);
  return made;
}

bool contains(const std::vector<std::string>& list, const std::string& wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

void exchange_action(int signal, const std::byte* set, std::byte* get) {
  constexpr size_t kMaskNbytes = 8;
  (void)::syscall(SYS_rt_sigaction, signal, set, get, kMaskNbytes);
}

std::string name_of(const std::string& variable) { return variable.substr(0, variable.find('=')); }

}  // namespace

DriverScope::DriverScope() : environment_(read_environment()) {
  for (int i = 1; i <= kSignals; ++i) exchange_action(i, nullptr, actions_[static_cast<size_t>(i)].data());
  (void)::sigaltstack(nullptr, &stack_);
  (void)::setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 0);  // keeps one that is there
}

DriverScope::~DriverScope() {
  for (int i = 1; i <= kSignals; ++i) {
    const Action& before = actions_[static_cast<size_t>(i)];
    Action after = {};
    exchange_action(i, nullptr, after.data());
    if (after != before) exchange_action(i, before.data(), nullptr);
  }
  stack_t now{};
  if (::sigaltstack(nullptr, &now) == 0 && now.ss_sp != stack_.ss_sp) (void)::sigaltstack(&stack_, nullptr);
  const std::vector<std::string> changed = read_environment();
  if (changed == environment_) return;
  for (const std::string& variable : changed)
    if (!contains(environment_, variable)) (void)::unsetenv(name_of(variable).c_str());
  for (const std::string& variable : environment_)
    if (const std::string name = name_of(variable);
        !contains(changed, variable) && name.size() < variable.size())
      (void)::setenv(name.c_str(), variable.c_str() + name.size() + 1, 1);
}

}  // namespace etb::opencl
