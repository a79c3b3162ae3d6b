// SPDX-License-Identifier: Apache-2.0
// Small cases as JSON: in replay files, and in messages from a child process. Bytes are hexadecimal text.
#pragma once

#include <nlohmann/json.hpp>

#include "conformance/outcome/small_case.hpp"

namespace etb::conformance {

nlohmann::ordered_json to_json(const SmallCase& small);

// Parses untrusted JSON: verifies the image, and checks the inputs against it.
[[nodiscard]] Result<SmallCase> small_case_from_json(const nlohmann::json& object);

}  // namespace etb::conformance
