// SPDX-License-Identifier: Apache-2.0
#include "tests/opinfo/model_arrays.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tools/run/npy.hpp"

namespace etb::tests {
namespace {

namespace fs = std::filesystem;
using host::Dtype;

template <class T>
void append(const tools::Array& array, std::vector<double>& out) {
  for (size_t i = 0; i + sizeof(T) <= array.bytes.size(); i += sizeof(T)) {
    T value;
    std::memcpy(&value, array.bytes.data() + i, sizeof(T));
    out.push_back(static_cast<double>(value));
  }
}

std::vector<double> numbers(const tools::Array& array) {
  std::vector<double> out;
  switch (array.dtype) {
    case Dtype::FLOAT32:
    case Dtype::COMPLEX64:
      append<float>(array, out);
      break;
    case Dtype::FLOAT64:
      append<double>(array, out);
      break;
    case Dtype::INT64:
      append<int64_t>(array, out);
      break;
    case Dtype::INT32:
      append<int32_t>(array, out);
      break;
    default:
      append<uint8_t>(array, out);
      break;
  }
  return out;
}

std::string numbered(const std::string& path, const char* kind, int i) {
  return path + "." + kind + "." + std::to_string(i);
}

std::string compare_arrays(const tools::Array& actual, const tools::Array& expected, double tolerance) {
  if (actual.sizes != expected.sizes || actual.dtype != expected.dtype)
    return tools::format_shape(actual.dtype, actual.sizes) + ", expected " +
           tools::format_shape(expected.dtype, expected.sizes);
  const std::vector<double> x = numbers(actual), y = numbers(expected);
  double scale = 1, worst = 0;
  for (const double value : y) scale = std::max(scale, std::abs(value));
  for (size_t i = 0; i < x.size(); ++i)
    worst = std::max(worst, std::isnan(x[i]) ? INFINITY : std::abs(x[i] - y[i]));
  if (worst <= tolerance * scale) return {};
  return "differs by " + std::to_string(worst) + ", values up to " + std::to_string(scale);
}

}  // namespace

bool is_model(const std::string& path) {
  return fs::exists(path + ".pt2") && fs::exists(numbered(path, "out", 0) + ".npy");
}

std::vector<std::string> input_arguments(const std::string& path) {
  std::vector<std::string> out;
  for (int i = 0;; ++i) {
    const std::string array = numbered(path, "in", i) + ".npy";
    std::string text;
    if (fs::exists(array)) {
      text = array;
    } else if (std::ifstream file(numbered(path, "in", i) + ".txt"); !std::getline(file, text)) {
      return out;
    }
    out.insert(out.end(), {"--input", text});
  }
}

std::string compare_outputs(const std::string& path, const std::string& folder, double tolerance) {
  for (int i = 0; fs::exists(numbered(path, "out", i) + ".npy"); ++i) {
    const auto expected = tools::read_npy(numbered(path, "out", i) + ".npy");
    const auto actual = tools::read_npy((fs::path(folder) / (std::to_string(i) + ".npy")).string());
    if (!expected || !actual) return "output " + std::to_string(i) + ": not readable";
    if (const std::string difference = compare_arrays(*actual, *expected, tolerance); !difference.empty())
      return "output " + std::to_string(i) + ": " + difference;
  }
  return {};
}

}  // namespace etb::tests
