// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/circumstances.hpp"

#include <sys/utsname.h>

#include <fstream>
#include <thread>

#include "api/format/digest.hpp"
#include "api/format/hex.hpp"
#include "conformance/cases/case.hpp"
#include "conformance/checks/check.hpp"

namespace etb::conformance {
namespace {

// Returns the text after the first `key` of a file, from the separator on.
std::string value_in(const char* path, const std::string& key, char separator) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(key, 0) != 0) continue;
    std::string value = line.substr(std::min(line.size(), line.find(separator) + 1));
    while (!value.empty() && (value.front() == ' ' || value.front() == '"')) value.erase(0, 1);
    while (!value.empty() && value.back() == '"') value.pop_back();
    return value;
  }
  return "";
}

}  // namespace

std::string describe_host() {
  utsname system{};
  ::uname(&system);
  std::string processor = value_in("/proc/cpuinfo", "model name", ':');
  if (processor.empty()) processor = "processor of unknown name";
  std::string distribution = value_in("/etc/os-release", "PRETTY_NAME", '=');
  if (distribution.empty()) distribution = "system of unknown name";
  return processor + ", " + std::to_string(std::thread::hardware_concurrency()) + " processors; " +
         system.sysname + " " + system.release + " " + system.machine + "; " + distribution;
}

std::string suite_digest() {
  format::Sha256Sum sum;
  const auto add = [&](const std::string& text) {
    const std::string line = text + "\n";
    sum.add({reinterpret_cast<const uint8_t*>(line.data()), line.size()});
  };
  add(std::to_string(kSuiteVersion));
  for (const Case& item : all_cases()) add(item.name);
  for (const Check& check : all_checks()) add(check.id);
  return format::to_hex(sum.finish());
}

}  // namespace etb::conformance
