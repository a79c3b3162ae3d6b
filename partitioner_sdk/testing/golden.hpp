// SPDX-License-Identifier: Apache-2.0
// Compares text with a file under tests/golden. With ETB_REBASE=1 in the environment, writes the file
// instead.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace etb::testing {

inline std::string read_text_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}

// `name` as in "import/add.txt".
inline void expect_golden(const std::string& name, const std::string& text) {
  const std::filesystem::path path = std::filesystem::path(ETB_SOURCE_DIR) / "tests/golden" / name;
  if (const char* rebase = std::getenv("ETB_REBASE"); rebase != nullptr && *rebase == '1') {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  EXPECT_EQ(text, read_text_file(path.string())) << "differs from " << name << "; ETB_REBASE=1 rewrites it";
}

inline std::string archive_path(const std::string& name) {
  return std::string(ETB_SOURCE_DIR) + "/tests/fixtures/archives/" + name + ".pt2";
}

}  // namespace etb::testing
