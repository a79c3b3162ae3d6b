// SPDX-License-Identifier: Apache-2.0
// Prepares the process of the program: its reaction to signals, and its standard streams.
#pragma once

namespace etb::tools {

// - SIGPIPE and SIGXFSZ do nothing: a closed pipe and a file size limit become errors of the write. They have
//   handlers instead of being ignored, because programs that a plugin starts would inherit the latter.
// - SIGINT, SIGTERM and SIGHUP remove unfinished output files, then end the process as usual.
// - SIGBUS of a mapped file that became shorter prints a message and exits with INVALID_INPUT.
// - Standard streams that the caller closed become errors, so that no later file gets their number and text.
// Children that are forked later end as if this was never called. For main() only: a library must not change
// handlers.
void prepare_process() noexcept;

// True in the process that main() prepared: not in a child, nor in a test that runs commands.
bool is_program() noexcept;

}  // namespace etb::tools
