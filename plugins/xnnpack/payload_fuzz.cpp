// Any bytes as a payload: check_payload and delegate_create refuse them or make a delegate of them, through the plugin's own table.
#include <array>

#include "plugins/xnnpack/fuzz_plugin.hpp"
#include "plugins/xnnpack/payload_arguments.hpp"

namespace {

// Every key names the same bytes, so that payloads reach the packing of weights.
alignas(16) constexpr std::array<uint8_t, 4096> kWeights = {};
etb_status ETB_CALL get(void*, const char*, etb_payload_view* out, etb_error*) {
  etb::point_at(*out, std::as_bytes(std::span(kWeights)));
  return ETB_OK;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const etb::xnnpack::FuzzPlugin kPlugin;
  const etb_delegate_table& table = *kPlugin.table->delegate;
  etb_error error = ETB_ERROR_INIT;
  etb_payload_check check{};
  check.struct_size = ETB_INIT_SIZE(etb_payload_check);
  check.backend_id = "XnnpackBackend";
  check.prefix = {data, size < 4096 ? size : 4096};
  check.payload_nbytes = size;
  etb_verdict verdict{};
  verdict.struct_size = ETB_INIT_SIZE(etb_verdict);
  (void)table.check_payload(kPlugin.plugin, &check, &verdict, &error);

  const etb_named_data named = {ETB_INIT_SIZE(etb_named_data), 0, nullptr, get};
  const etb::PayloadArguments given(std::as_bytes(std::span(data, size)), &named);
  etb_delegate* made = nullptr;
  if (table.create(kPlugin.plugin, &given.args, &made, &error) != ETB_OK) {
    if (error.text[0] == '\0') __builtin_trap();  // a refusal says why
    return 0;
  }
  if (table.destroy(made, &error) != ETB_OK) __builtin_trap();
  return 0;
}
