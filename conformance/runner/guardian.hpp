// The process between the judge and the plugin. It runs no code of the plugin: it starts the process that does, watches what that process and
// its descendants take, ends them all, and reports what they left behind. In a namespace it is process 1; elsewhere orphans of the
// plugin become its children.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "conformance/runner/confinement.hpp"
#include "conformance/runner/usage.hpp"

namespace etb::conformance {

struct GuardianArgs {
  Confinement confinement;
  UsageLimits limits;
  std::string folder;       // for temporary files
  int control_fd = -1;      // to the judge: commands come in, one report goes out
  std::vector<pid_t> pids;  // that the plugin must not signal: the judge and its ancestors
  std::function<void()>
      subject;  // holds the plugin; called in the process that is watched, with privileges given up
  std::vector<int> subject_fds;  // descriptors that are for that process alone
};

// Commands of the judge, a byte each.
inline constexpr char kPrintStacks = 'S';  // each thread of the watched process gets SIGQUIT
inline constexpr char kEndAll = 'K';
inline constexpr char kLook =
    'L';  // measures now what the processes take; answers one byte when that is done

struct GuardianReport {
  int status = 0;            // of the watched process, as waitpid() tells it
  int stop_signal = 0;       // it was stopped by this signal, and then killed
  std::string excess;        // it took more than its limits, and was killed
  std::string set_up_error;  // it never began
  uint32_t left_processes = 0;
  std::string left_names;
  uint32_t left_sockets = 0;
  uint64_t left_bytes = 0;  // in its temporary folders
};
std::vector<std::byte> encode_report(const GuardianReport& report);
std::optional<GuardianReport> decode_report(std::span<const std::byte> data);

[[noreturn]] void run_guardian(const GuardianArgs& args);

}  // namespace etb::conformance
