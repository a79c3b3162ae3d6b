// SPDX-License-Identifier: Apache-2.0
// The process between the judge and the plugin. It runs no code of the plugin. It starts the plugin's
// process, watches the resources of that process and its descendants, ends them all, and reports their
// remains. In a namespace it is process 1; elsewhere it adopts the plugin's orphans.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "conformance/process/confinement.hpp"
#include "conformance/subject/usage.hpp"

namespace etb::conformance {

struct GuardianArgs {
  Confinement confinement;
  UsageLimits limits;
  std::string folder;             // folder of temporary files
  int control_fd = -1;            // socket to the judge: reads commands, writes one report
  std::vector<pid_t> pids;        // processes that the plugin must not signal: the judge and its ancestors
  std::function<void()> subject;  // holds the plugin; called in the watched process, without privileges
  std::vector<int> subject_fds;   // descriptors for that process only
};

// Commands of the judge, one byte each.
inline constexpr char kPrintStacks = 'S';  // sends SIGQUIT to each thread of the watched process
inline constexpr char kEndAll = 'K';
inline constexpr char kLook = 'L';  // measures current usage; answers one byte when done

struct GuardianReport {
  int status = 0;            // status of the watched process, as from waitpid()
  int stop_signal = 0;       // signal that stopped it; it was then killed
  std::string excess;        // limits that it exceeded before it was killed
  std::string set_up_error;  // signal that stopped it before it was killed
  uint32_t left_processes = 0;
  std::string left_names;
  uint32_t left_sockets = 0;
  uint64_t left_bytes = 0;  // bytes in its temporary folders
};
std::vector<std::byte> encode_report(const GuardianReport& report);
std::optional<GuardianReport> decode_report(std::span<const std::byte> data);

[[noreturn]] void run_guardian(const GuardianArgs& args);

}  // namespace etb::conformance
