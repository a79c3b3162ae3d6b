// SPDX-License-Identifier: Apache-2.0
// Finds the plugin to test from the command line, without running its code.
#pragma once

#include <string>

#include "conformance/subject/subject.hpp"
#include "tools/command.hpp"

namespace etb::tools {

// `target`: "portable", a path of a manifest or library, or a name that the registry resolves. `backend`: one
// of its delegate ids, or "" for the first.
[[nodiscard]] Result<conformance::SubjectSpec> find_subject(const std::string& target,
                                                            const std::string& backend,
                                                            const Session& session);

// Reads texts of --delegate-option, "key=value". Errors: INVALID_ARGUMENT for another form, a key twice, one that the manifest
// lacks, or a value of another type.
[[nodiscard]] Result<host::OptionTexts> read_delegate_options(const std::vector<std::string>& texts,
                                                              const host::PluginEntry& entry);

// Returns the library's digest from the manifest, in hex; "" if it has none.
std::string digest_of(const host::PluginEntry& entry);

}  // namespace etb::tools
