// SPDX-License-Identifier: Apache-2.0
#include "conformance/process/death.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstring>

#include "conformance/process/symbols.hpp"
#include "conformance/subject/assess.hpp"
#include "conformance/subject/sanitizer.hpp"

namespace etb::conformance {
namespace {

constexpr const char* kExcess = "hyg.stays-within-its-limits";
constexpr uint64_t kEndNs = 2000000000;

struct Cause {
  State state = State::kCrash;
  std::string check;  // "": of the outcome's own group
  std::string text;
};

Cause cause_of(LinkState state, const GuardianReport& report, const SubjectLink& link) {
  const std::string where = " in " + link.phase();
  const int signal = WIFSIGNALED(report.status) ? WTERMSIG(report.status) : 0;
  if (!report.set_up_error.empty())
    return {State::kCrash, "suite.set-up", "the plugin's process could not be made: " + report.set_up_error};
  if (state == LinkState::kTampered)
    return {State::kFail, kTampering,
            "wrote into the descriptor by which the suite talks to its process: " +
                (link.tampering().empty() ? "an answer that is none" : link.tampering()) + where};
  if (!report.excess.empty()) return {State::kFail, kExcess, "takes " + report.excess + where};
  if (report.stop_signal != 0)
    return {State::kFail, kTampering,
            fmt::format("stopped its process with signal {} ({}){}", report.stop_signal,
                        ::strsignal(report.stop_signal), where)};
  if (state == LinkState::kHanging) return {State::kHang, "", "no end within its time," + where};
  if (signal == SIGSYS)
    return {
        State::kFail, kTampering,
        "made a system call that reaches other processes: it traces or reads one, or signals its group or "
        "the suite," +
            where};
  if (signal == SIGXFSZ) return {State::kFail, kExcess, "wrote a file beyond the limit of its size," + where};
  if (signal != 0)
    return {State::kCrash, "", fmt::format("killed by signal {} ({}){}", signal, ::strsignal(signal), where)};
  return {State::kCrash, "", fmt::format("exited with code {}{}", WEXITSTATUS(report.status), where)};
}

}  // namespace

void add_death(LinkState state, SubjectLink& link, Outcome& out) {
  const Cause cause = cause_of(state, link.end(kEndNs), link);
  out.state = cause.state;
  out.reason = cause.text;
  const std::string check = cause.check.empty()
                                ? group_of(out.name) + (cause.state == State::kHang ? ".hang" : ".crash")
                                : cause.check;
  out.findings.push_back({check, cause.text, cause.check.rfind("hyg.", 0) == 0 ? "ABI-HYG-01" : ""});
  constexpr uint64_t kMostPrinted = 65536;
  if (cause.state == State::kCrash)
    if (const std::string report = find_sanitizer_report(link.take_printed(kMostPrinted)); !report.empty())
      out.findings.back().text = out.reason = report + "\n" + cause.text;
  if (cause.state != State::kHang) return;
  if (const std::string stacks = link.stacks(); !stacks.empty())
    out.findings.back().text += "\n" + with_symbols(stacks);
}

void add_end(const GuardianReport& report, const SubjectLink& link, Outcome& out) {
  if (!report.excess.empty()) out.findings.push_back({kExcess, "takes " + report.excess, "ABI-HYG-01"});
  if (report.left_processes != 0)
    out.findings.push_back({"leak.processes-of-a-batch",
                            fmt::format("{} processes that the plugin started outlive it: {}",
                                        report.left_processes, report.left_names),
                            ""});
  if (report.left_sockets != 0)
    out.findings.push_back(
        {"leak.sockets-of-a-batch",
         fmt::format("{} sockets or pipes are left in its temporary folders", report.left_sockets), ""});
  if (!WIFEXITED(report.status) || WEXITSTATUS(report.status) != 0)
    out.findings.push_back({"unload.end-of-batch", cause_of(LinkState::kEnded, report, link).text, ""});
  if (!link.tampering().empty())
    out.findings.push_back(
        {kTampering, "wrote into the descriptor by which the suite talks to its process", ""});
}

}  // namespace etb::conformance
