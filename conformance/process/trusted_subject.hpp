// SPDX-License-Identifier: Apache-2.0
// Checks that the files of a plugin may be loaded, before any process of a run begins: inside a user
// namespace file owners cannot be distinguished.
#pragma once

#include "conformance/subject/subject.hpp"

namespace etb::conformance {

// Returns success for a static plugin.
[[nodiscard]] Status expect_trusted(const SubjectSpec& spec);

}  // namespace etb::conformance
