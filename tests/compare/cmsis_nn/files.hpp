// SPDX-License-Identifier: Apache-2.0
// Files for compare_tosa.py.
#pragma once

#include <cstdint>
#include <string>

#include "layer.hpp"

namespace compare {

inline constexpr uint32_t kFiles = 100;  // layers of each kind that are written

// Ends the program if the file cannot be written.
void write_file(const std::string& path, const void* data, size_t bytes);
// Writes the numbers of a layer to BASE.json.
void write_numbers(const std::string& base, const Layer& layer);

}  // namespace compare
