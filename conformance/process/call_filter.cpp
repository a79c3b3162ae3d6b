// SPDX-License-Identifier: Apache-2.0
// The system call filter of a process that holds a plugin.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include "conformance/process/confinement.hpp"
#include "conformance/subject/system_calls.hpp"

namespace etb::conformance {

#if ETB_HAS_CALL_FILTER
namespace {

constexpr uint32_t kNever[] = {SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev};
// System calls whose first argument is the target process.
constexpr uint32_t kReachingProcess[] = {
    SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_pidfd_open};

uint32_t low_half_of_argument(int index) {
  return static_cast<uint32_t>(offsetof(seccomp_data, args) + sizeof(uint64_t) * static_cast<size_t>(index));
}

sock_filter statement(uint16_t code, uint32_t k) { return {code, 0, 0, k}; }
// Skips `if_true` statements if the test is true.
sock_filter jump(uint16_t test, uint32_t k, size_t if_true) {
  return {static_cast<uint16_t>(BPF_JMP | test | BPF_K), static_cast<uint8_t>(if_true), 0, k};
}

constexpr uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS, kReturn = BPF_RET | BPF_K;

std::vector<sock_filter> make_filter(std::span<const pid_t> pids) {
  const sock_filter allow = statement(kReturn, SECCOMP_RET_ALLOW);
  const sock_filter end = statement(kReturn, SECCOMP_RET_KILL_PROCESS);
  std::vector<sock_filter> out = begin_call_filter();
  for (const uint32_t call : kNever) {
    out.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, call});
    out.push_back(end);
  }
  for (size_t i = 0; i < std::size(kReachingProcess); ++i)
    out.push_back(jump(BPF_JEQ, kReachingProcess[i], std::size(kReachingProcess) - i));
  out.push_back(allow);
  out.push_back(statement(kLoad, low_half_of_argument(0)));
  out.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0});  // the own group
  out.push_back(end);
  out.push_back({BPF_JMP | BPF_JSET | BPF_K, 0, 1, 0x80000000u});  // another group, or all processes
  out.push_back(end);
  for (const pid_t pid : pids) {
    out.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<uint32_t>(pid)});
    out.push_back(end);
  }
  out.push_back(allow);
  return out;
}

}  // namespace
#endif

Status forbid_reaching_others([[maybe_unused]] std::span<const pid_t> pids) {
#if ETB_HAS_CALL_FILTER
  return install_call_filter(make_filter(pids));
#else
  return {};
#endif
}

}  // namespace etb::conformance
