// The trace layer's functions, put together.
#pragma once

#include "host/layers/trace/trace.hpp"

namespace etb::host {

// The Trace that the application made for this host; NULL when it made none.
Trace* find_trace(const etb_host& host) noexcept;

namespace trace {

const etb_plugin_table& trace_table() noexcept;

}  // namespace trace
}  // namespace etb::host
