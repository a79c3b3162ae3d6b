// From what was typed to the plugin to test, without running any of its code.
#pragma once

#include <string>

#include "conformance/runner/subject.hpp"
#include "tools/command.hpp"

namespace etb::tools {

// `target`: "portable", a path of a manifest or library, or a name that the registry resolves. `backend`: one of its delegate ids, "" for the first.
[[nodiscard]] Result<conformance::SubjectSpec> find_subject(const std::string& target,
                                                            const std::string& backend,
                                                            const Session& session);

// Of the library as the manifest says it, in hex; "" when it says none.
std::string digest_of(const host::PluginEntry& entry);

}  // namespace etb::tools
