// Prepares the process of the program: how signals end it, and standard streams that are its own.
#pragma once

namespace etb::tools {

// - SIGPIPE and SIGXFSZ do nothing: a reader that has gone and a file size limit are errors of the write. They have handlers instead
//   of being ignored, because a program that a plugin starts would inherit the latter.
// - SIGINT, SIGTERM and SIGHUP remove unfinished output files, then end the process as they would have.
// - SIGBUS of a mapped file that became shorter is a message and the exit code INVALID_INPUT.
// - Standard streams that the caller closed become errors, so that no file that is opened later gets their number and their text.
// Children that are forked later end as they would without this. For main() alone: a library changes no handlers.
void prepare_process() noexcept;

}  // namespace etb::tools
