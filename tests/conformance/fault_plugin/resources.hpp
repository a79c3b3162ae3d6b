// SPDX-License-Identifier: Apache-2.0
// Faults that take resources of the process and keep them, or change its attributes: 250 to 299.
#pragma once

namespace faulty {

void use_resources_of_init();
void use_resources_of_deinit();
void use_resources_of_create();
// The reading of a payload failed.
void use_resources_of_refusal();
void use_resources_of_compile(bool has_failed);
void use_resources_of_context();
// `runs` counts the runs of the context.
void use_resources_of_run(int runs, bool is_cancelled, bool is_profiled);
void use_resources_of_failed_run();

}  // namespace faulty
