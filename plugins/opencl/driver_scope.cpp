// SPDX-License-Identifier: Apache-2.0
#include "plugins/opencl/driver_scope.hpp"

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

std::string name_of(const std::string& variable) { return variable.substr(0, variable.find('=')); }

}  // namespace

DriverScope::DriverScope() : environment_(read_environment()) {
  for (size_t i = 1; i < handlers_.size(); ++i)
    has_handler_[i] = ::sigaction(static_cast<int>(i), nullptr, &handlers_[i]) == 0;
  (void)::sigaltstack(nullptr, &stack_);
  if (::getenv("PATH") == nullptr) (void)::setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 0);
}

DriverScope::~DriverScope() {
  for (size_t i = 1; i < handlers_.size(); ++i)
    if (has_handler_[i]) (void)::sigaction(static_cast<int>(i), &handlers_[i], nullptr);
  stack_t now{};
  if (::sigaltstack(nullptr, &now) == 0 && now.ss_sp != stack_.ss_sp) (void)::sigaltstack(&stack_, nullptr);
  const std::vector<std::string> changed = read_environment();
  if (changed == environment_) return;
  for (const std::string& variable : changed)
    if (!contains(environment_, variable)) (void)::unsetenv(name_of(variable).c_str());
  for (const std::string& variable : environment_)
    if (const std::string name = name_of(variable); !contains(changed, variable) && name.size() < variable.size())
      (void)::setenv(name.c_str(), variable.c_str() + name.size() + 1, 1);
}

}  // namespace etb::opencl
