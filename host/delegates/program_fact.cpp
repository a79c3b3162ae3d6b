// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/program_fact.hpp"

#include "api/format/device_record.hpp"
#include "host/runtime/program.hpp"

namespace etb::host {

Result<std::optional<DataBlock>> read_program_fact(const DelegateRequest& request, const std::string& key) {
  if (request.program == nullptr) return std::nullopt;
  const format::ProgramView& view = request.program->view();
  for (uint32_t i = 0; i < view.named_data_count(); ++i) {
    if (view.named_data_key(i) != key) continue;
    DataBlock block;
    etb_error error = ETB_ERROR_INIT;
    ETB_TRY(check(request.program->load_segment(view.named_data_segment(i), &block, &error), error));
    return std::optional<DataBlock>(std::move(block));
  }
  return std::nullopt;
}

Result<std::optional<std::string>> read_named_device(const DelegateRequest& request) {
  const std::string key = format::device_record_key(request.id);
  ETB_ASSIGN(const std::optional<DataBlock> block, read_program_fact(request, key));
  if (!block) return std::nullopt;
  auto name = format::read_device_record(block->bytes());
  if (!name) return tl::make_unexpected(with_context(std::move(name).error(), "named data '" + key + "'"));
  return *std::move(name);
}

}  // namespace etb::host
