// The "precision" of a manifest: what the plugin declares to compute less exactly than float32 does.
#pragma once

#include <string>
#include <vector>

#include "conformance/judge/contract.hpp"

namespace etb::conformance {

// A list of objects: "ops" (patterns), "dtypes", "accumulator", "ulps", "ulps_of_one", "ftz", "finite_only". Refuses unknown keys, and numbers
// that would make every result right.
[[nodiscard]] Result<std::vector<PrecisionRow>> parse_precision_rows(const std::string& manifest_text);

// Of the manifest at this path; none when the path is empty (a static plugin) or the manifest declares none.
[[nodiscard]] Result<std::vector<PrecisionRow>> read_precision_rows(const std::string& manifest_path);

}  // namespace etb::conformance
