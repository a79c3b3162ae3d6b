// Small cases as JSON: in replay files, and on the way from a child process. Bytes are hexadecimal text.
#pragma once

#include <nlohmann/json.hpp>

#include "conformance/runner/small_case.hpp"

namespace etb::conformance {

nlohmann::ordered_json to_json(const SmallCase& small);

// Of untrusted JSON: the image is verified, and inputs are what it asks for.
[[nodiscard]] Result<SmallCase> small_case_from_json(const nlohmann::json& object);

}  // namespace etb::conformance
