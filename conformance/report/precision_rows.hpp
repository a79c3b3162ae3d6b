// SPDX-License-Identifier: Apache-2.0
// Reads "precision" of a manifest: ops that the plugin computes less exactly than float32.
#pragma once

#include <string>
#include <vector>

#include "conformance/judge/contract.hpp"

namespace etb::conformance {

// Parses a list of objects: "ops" (patterns), "dtypes", "accumulator", "ulps", "ulps_of_one", "codes",
// "ftz", "finite_only", "largest". Rejects unknown keys, and numbers that would accept every result.
[[nodiscard]] Result<std::vector<PrecisionRow>> parse_precision_rows(const std::string& manifest_text);

// Reads the rows of the manifest at this path. Returns none if the path is empty (a static plugin) or the
// manifest declares none.
[[nodiscard]] Result<std::vector<PrecisionRow>> read_precision_rows(const std::string& manifest_path);

}  // namespace etb::conformance
