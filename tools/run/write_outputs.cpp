// SPDX-License-Identifier: Apache-2.0
#include "tools/run/write_outputs.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "api/format/output_file.hpp"
#include "host/module/owned_tensor.hpp"
#include "tools/run/npy.hpp"

namespace etb::tools {

namespace {

host::OwnedTensor to_tensor(const host::EValue& number) {
  using host::OwnedTensor;
  if (number.is_double()) return OwnedTensor::make<double>({}, {number.to_double()});
  if (number.is_int()) return OwnedTensor::make<int64_t>({}, {number.to_int()});
  return OwnedTensor::make<bool>({}, {number.to_bool()});
}

}  // namespace

Status write_npy_files(const std::string& folder, const std::vector<host::EValue>& outputs) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return make_error(Code::ACCESS_FAILED, fmt::format("{}: {}", folder, error.message()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string path = (std::filesystem::path(folder) / fmt::format("{}.npy", i)).string();
    if (outputs[i].is_tensor()) {
      ETB_TRY(write_npy(path, outputs[i].tensor()));
    } else if (outputs[i].is_scalar()) {
      ETB_TRY(write_npy(path, to_tensor(outputs[i]).tensor()));
    }
  }
  return {};
}

Status write_raw_files(const std::string& base, const std::vector<host::EValue>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].is_tensor()) continue;
    ETB_TRY(format::write_file(fmt::format("{}-{}.bin", base, i), to_row_major(outputs[i].tensor()).bytes));
  }
  return {};
}

}  // namespace etb::tools
