// SPDX-License-Identifier: Apache-2.0
// The process that holds the plugin. It answers requests of the judge in turn: facts of cases, findings of
// checks. The judge decides the order.
#pragma once

#include <array>

#include "conformance/process/plan.hpp"
#include "conformance/subject/progress.hpp"

namespace etb::conformance {

enum class RequestKind : uint32_t {
  kCase = 1,   // body: encode_case(); answered by encode_facts()
  kCheck = 2,  // body: the check's name; answered by an outcome in JSON
  kClose = 3,  // no body; closes the plugin, answers an outcome in JSON and ends the process
  kOpen = 4,   // no body; opens the plugin, answers its error or nothing
};

// Random for each request, and unguessable. It follows the request's body, so that it arrives after the
// plugin's code has run. The answer repeats it.
using Nonce = std::array<uint64_t, 2>;

// Precedes each request.
struct RequestHead {
  uint32_t kind = 0;
  uint32_t sequence = 0;
  uint64_t nbytes = 0;
};
// Precedes its answer.
struct AnswerHead {
  Nonce nonce{};
  RequestHead request;  // head of the request; the size is the answer's
  uint64_t printed_bytes =
      0;  // stream position after the plugin's calls: later bytes belong to the next request
};

struct SubjectChannel {
  int fd = -1;          // socket to the judge
  int stacks_fd = -1;   // pipe for stacks of threads, after SIGQUIT
  int streams_fd = -1;  // standard output and error
  ProgressPage* page = nullptr;
};

// Ends the process.
[[noreturn]] void run_subject(const Plan& plan, const SubjectChannel& channel);

}  // namespace etb::conformance
