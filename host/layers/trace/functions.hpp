// SPDX-License-Identifier: Apache-2.0
// The trace layer's functions in one table.
#pragma once

#include "host/layers/trace/trace.hpp"

namespace etb::host {

// Returns the Trace that the application made for this host, or NULL.
Trace* find_trace(const etb_host& host) noexcept;

namespace trace {

const etb_plugin_table& trace_table() noexcept;

}  // namespace trace
}  // namespace etb::host
