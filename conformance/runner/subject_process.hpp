// The process that holds the plugin. It answers requests of the judge one after the other with what the plugin did: facts of cases, findings
// of checks. It never decides what comes next.
#pragma once

#include <array>

#include "conformance/runner/plan.hpp"
#include "conformance/runner/progress.hpp"

namespace etb::conformance {

enum class RequestKind : uint32_t {
  kCase = 1,   // body: encode_case(); answered by encode_facts()
  kCheck = 2,  // body: the check's name as it is; answered by an outcome in JSON
  kClose = 3,  // no body; the plugin goes, answered by an outcome in JSON, and the process ends
  kOpen = 4,   // no body; the plugin is opened, answered by its error or nothing
};

// Unguessable, new for each request. It follows the body of a request, so that it comes into the process after the plugin's code has run, and is
// repeated in the answer.
using Nonce = std::array<uint64_t, 2>;

// In front of each request.
struct RequestHead {
  uint32_t kind = 0;
  uint32_t sequence = 0;
  uint64_t nbytes = 0;
};
// In front of its answer.
struct AnswerHead {
  Nonce nonce{};
  RequestHead request;  // with the answer's own size
  uint64_t printed_bytes =
      0;  // of the streams when the plugin's calls were over: later ones belong to the next request
};

struct SubjectChannel {
  int fd = -1;          // to the judge
  int stacks_fd = -1;   // for stacks of threads, after SIGQUIT
  int streams_fd = -1;  // standard output and error
  ProgressPage* page = nullptr;
};

// Ends the process.
[[noreturn]] void run_subject(const Plan& plan, const SubjectChannel& channel);

}  // namespace etb::conformance
