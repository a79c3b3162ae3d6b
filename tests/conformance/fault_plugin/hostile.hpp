// Faults of a plugin that attacks the suite instead of doing its work.
#pragma once

namespace faulty {

// Once a process, in its first run.
void attack_suite();

// Whether the folder for temporary files has a name that only the suite would give it (fault 120).
bool knows_the_suite();

}  // namespace faulty
