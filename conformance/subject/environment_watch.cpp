// SPDX-License-Identifier: Apache-2.0
#include "conformance/subject/environment_watch.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>

namespace etb::conformance {
namespace {

std::mutex mutex;
std::vector<std::string> read_names;  // guarded by `mutex`

char* recording_getenv(const char* name) {
  {
    const std::lock_guard lock(mutex);
    read_names.emplace_back(name);
  }
  return std::getenv(name);
}

}  // namespace

EnvironmentWatch::EnvironmentWatch(const void* symbol)
    : page_(sizeof(environ), host::validate::Access::kNothing) {
  const std::lock_guard lock(mutex);
  read_names.clear();
  auto* const getter = reinterpret_cast<void*>(&recording_getenv);
  const Import functions[] = {{"getenv", getter}, {"secure_getenv", getter}};
  functions_ = std::make_unique<ImportPatch>(symbol, functions);
  if (!page_.is_valid()) return;
  std::memcpy(page_.inside(), &environ, sizeof(environ));
  std::vector<Import> variables;
  for (const char* name : {"environ", "__environ", "_environ"}) variables.push_back({name, page_.begin()});
  environ_ = std::make_unique<ImportPatch>(symbol, variables);
}

std::vector<std::string> EnvironmentWatch::names() {
  const std::lock_guard lock(mutex);
  return read_names;
}

bool EnvironmentWatch::end_watch_of_environ() {
  environ_.reset();
  host::validate::Fault fault;
  return page_.is_valid() && page_.take_fault(fault);
}

}  // namespace etb::conformance
