// Whether the files of a plugin may be loaded, found out before any process of a run begins: inside a user namespace the owners of files cannot
// be told apart.
#pragma once

#include "conformance/runner/subject.hpp"

namespace etb::conformance {

// Nothing for a static plugin.
[[nodiscard]] Status expect_trusted(const SubjectSpec& spec);

}  // namespace etb::conformance
