// SPDX-License-Identifier: Apache-2.0
// Faults of a plugin that attacks the suite.
#pragma once

namespace faulty {

// Once per process, in its first run.
void attack_suite();

// True if the temporary folder has a name that only the suite would choose (fault 120).
bool knows_the_suite();

}  // namespace faulty
