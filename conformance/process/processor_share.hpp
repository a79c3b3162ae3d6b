// SPDX-License-Identifier: Apache-2.0
// The part of a processor that a process gets on a busy machine. Time limits count only that part, so that a correct plugin
// does not hang because others compute.
#pragma once

#include <string_view>

namespace etb::conformance {

// Returns 1 on a machine with at most two runnable threads for each processor, less with more of them, at least 1/16. 1 where
// the system does not tell.
double processor_share();
// As above, for the text of /proc/loadavg.
double processor_share_of(std::string_view loadavg, unsigned processors);

}  // namespace etb::conformance
