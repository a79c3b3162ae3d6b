// SPDX-License-Identifier: Apache-2.0
// Compares recorded answers with those of the replay.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "api/format/call_trace.hpp"

namespace etb::host::replay {

// Returns what differs, "" if nothing. All compare meaning, not order where order has none.
std::string compare_claims(const std::vector<format::TraceClaim>& recorded,
                           const std::vector<format::TraceClaim>& found);
std::string compare_ops(const std::vector<format::TraceOpRow>& recorded,
                        const std::vector<format::TraceOpRow>& found);
std::string compare_schemas(const std::vector<format::TraceSchema>& recorded,
                            const std::vector<format::TraceSchema>& found);
std::string compare_options(const std::vector<format::TraceOption>& recorded,
                            const std::vector<format::TraceOption>& found);
std::string compare_io(const std::vector<format::TraceIoReq>& recorded,
                       const std::vector<format::TraceIoReq>& found);
std::string compare_bytes(std::span<const std::byte> recorded, std::span<const std::byte> found);
std::string compare_specs(const std::vector<format::TraceSpec>& recorded,
                          const std::vector<format::TraceSpec>& found);

}  // namespace etb::host::replay
