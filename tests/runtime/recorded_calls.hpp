// SPDX-License-Identifier: Apache-2.0
// Calls recorded beside a program fixture, with PyTorch's results: NAME.METHOD.CALL.in.I.npy and
// NAME.METHOD.CALL.out.I.npy.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>

#include "host/module/module.hpp"
#include "tools/run/method_inputs.hpp"
#include "tools/run/npy.hpp"

namespace etb::tools {

namespace fs = std::filesystem;

struct Call {
  std::vector<fs::path> inputs;
  std::vector<fs::path> outputs;
};
using Calls = std::map<std::pair<std::string, int>, Call>;  // by method and number

inline Calls calls_of(const fs::path& folder, const std::string& name) {
  std::map<std::tuple<std::string, int, std::string, int>, fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with(name + ".") || !file.ends_with(".npy")) continue;
    std::vector<std::string> parts;
    std::stringstream stream(file);
    for (std::string part; std::getline(stream, part, '.');) parts.push_back(part);
    files[{parts[1], std::stoi(parts[2]), parts[3], std::stoi(parts[4])}] = entry.path();
  }
  Calls calls;
  for (const auto& [key, path] : files) {
    const auto& [method, number, kind, index] = key;
    Call& call = calls[{method, number}];
    (kind == "in" ? call.inputs : call.outputs).push_back(path);
  }
  return calls;
}

// Float32 sums in another order than PyTorch's differ by a few units in the last place.
inline void expect_close(const Array& expected, const host::EValue& value, const std::string& where) {
  if (!value.is_tensor()) {
    double number = 0;
    if (expected.dtype == host::Dtype::INT64) {
      int64_t whole;
      std::memcpy(&whole, expected.bytes.data(), sizeof(whole));
      number = static_cast<double>(whole);
    } else {
      std::memcpy(&number, expected.bytes.data(), std::min(sizeof(number), expected.bytes.size()));
    }
    EXPECT_EQ(value.to_double(), number) << where;
    return;
  }
  const Array found = to_row_major(value.tensor());
  ASSERT_EQ(format_shape(found.dtype, found.sizes), format_shape(expected.dtype, expected.sizes)) << where;
  if (found.dtype != host::Dtype::FLOAT32) {
    EXPECT_EQ(found.bytes, expected.bytes) << where;
    return;
  }
  for (size_t i = 0; i < found.bytes.size() / sizeof(float); ++i) {
    float a;
    float b;
    std::memcpy(&a, found.bytes.data() + i * sizeof(float), sizeof(a));
    std::memcpy(&b, expected.bytes.data() + i * sizeof(float), sizeof(b));
    ASSERT_NEAR(a, b, 1e-6F + 1e-5F * std::fabs(b)) << where << ", element " << i;
  }
}

// Runs every recorded call of a program on one loaded module, in order, and compares.
inline void expect_recorded_numbers(const fs::path& folder, const std::string& name,
                                    host::ModuleOptions options = {}) {
  const Calls calls = calls_of(folder, name);
  ASSERT_FALSE(calls.empty());
  if (const fs::path data = folder / (name + ".ptd"); fs::exists(data)) options.data_files = {data.string()};
  auto module = host::Module::open((folder / (name + ".pte")).string(), options);
  ASSERT_TRUE(module) << module.error().message;
  for (const auto& [key, call] : calls) {
    const std::string where = name + "." + key.first + ", call " + std::to_string(key.second);
    const Status loaded = module->load_method(key.first);
    ASSERT_TRUE(loaded) << loaded.error().message;
    MethodInputs inputs(*module->method_meta(key.first));
    ASSERT_EQ(call.inputs.size(), inputs.count()) << where;
    for (uint32_t i = 0; i < inputs.count(); ++i) {
      const Status set = inputs.set_text(i, call.inputs[i].string());
      ASSERT_TRUE(set) << set.error().message;
    }
    const auto outputs = module->execute(key.first, inputs.values());
    ASSERT_TRUE(outputs) << where << ": " << outputs.error().message;
    ASSERT_EQ(outputs->size(), call.outputs.size()) << where;
    for (size_t i = 0; i < outputs->size(); ++i) {
      const auto expected = read_npy(call.outputs[i].string());
      ASSERT_TRUE(expected) << expected.error().message;
      expect_close(*expected, (*outputs)[i], where + ", output " + std::to_string(i));
    }
  }
}

}  // namespace etb::tools
