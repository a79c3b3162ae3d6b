// SPDX-License-Identifier: Apache-2.0
// Faults of loading, unloading and of the tables.
#include <cstring>

#include "etb/cpp/fail.hpp"
#include "tests/conformance/fault_plugin/plugin.hpp"
#include "tests/conformance/fault_plugin/resources.hpp"

namespace faulty {
namespace {

// Fault 64.
struct AtLoad {
  AtLoad() {
    if (has_fault(64)) start_thread_for_ever();
  }
} at_load;

// Logs during unloading (fault 40).
struct AtUnload {
  ~AtUnload() {
    if (has_fault(40) && stale_log != nullptr)
      stale_log->write(stale_log->ctx, ETB_LOG_ERROR, "goodbye", nullptr, 0);
  }
} at_unload;

// The tables before they are changed.
Tables unchanged;
etb_plugin_table base_table;

}  // namespace

void wrap_tables(Tables& tables) {
  unchanged = tables;
  base_table = tables.plugin;
  base_table.device = &unchanged.device;
  base_table.delegate = &unchanged.delegate;
  base_table.aot = &unchanged.aot;
  etb_plugin_table& table = tables.plugin;
  etb_device_table& device_table = tables.device;
  etb_delegate_table& delegate_table = tables.delegate;
  etb_aot_table& aot_table = tables.aot;
  if (has_fault(36))
    delegate_table.query = [](etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
      const etb_status status = base_table.delegate->query(delegate, info, error);
      std::memset(reinterpret_cast<char*>(info) + sizeof(*info), 0, 16);
      return status;
    };
  if (has_fault(65))
    delegate_table.query = [](etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
      const uint32_t size = info->struct_size;
      etb_delegate_info own{};
      own.struct_size = sizeof(own);
      const etb_status status = base_table.delegate->query(delegate, &own, error);
      std::memcpy(info, &own, sizeof(own));
      info->struct_size = size;
      return status;
    };
  if (has_fault(67))
    table.deinit = [](etb_plugin* plugin, etb_error* error) {
      const etb_status status = base_table.deinit(plugin, error);
      return status == ETB_BUSY ? etb_status{ETB_OK} : status;
    };
  if (has_fault(68))
    aot_table.partition = [](etb_plugin*, const etb_partition_args* args, const etb_partition_sink* sink,
                             etb_error*) {
      const uint32_t node = 0;
      etb_claim claim{};
      claim.struct_size = sizeof(claim);
      claim.node_ids = &node;
      claim.node_count = 1;
      (void)args;
      return sink->claim(sink->ctx, &claim);
    };
  if (has_fault(74))
    table.set_option = [](etb_plugin* plugin, uint32_t kind, void* object, const etb_option* option,
                          etb_error* error) {
      plugin_of(plugin).threads = plugin_of(plugin).level = option->i64;
      return base_table.set_option(plugin, kind, object, option, error);
    };
  if (has_fault(38))
    table.init = [](const etb_host* host, const etb_option*, uint64_t, etb_plugin** out, etb_error* error) {
      return base_table.init(host, nullptr, 0, out, error);
    };
  if (has_fault(46))
    aot_table.compile = [](etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
      is_compiling = true;
      const etb_status status = base_table.aot->compile(plugin, args, error);
      is_compiling = false;
      return status;
    };
  if (has_fault(265))
    table.deinit = [](etb_plugin* plugin, etb_error* error) {
      use_resources_of_deinit();
      return base_table.deinit(plugin, error);
    };
  if (has_fault(270) || has_fault(271))
    aot_table.compile = [](etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
      const etb_status status = base_table.aot->compile(plugin, args, error);
      use_resources_of_compile(status != ETB_OK);
      return status;
    };
  if (has_fault(47))
    delegate_table.destroy = [](etb_delegate* delegate, etb_error* error) {
      const etb_status status = base_table.delegate->destroy(delegate, error);
      return status == ETB_BUSY ? etb_status{ETB_OK} : status;
    };
  if (has_fault(53)) {
    aot_table.caps |= ETB_AOT_CAP_DRY_CHECK;
    aot_table.dry_check = [](etb_plugin*, const etb_partition_args*, etb_error*) {
      return etb_status{ETB_OK};
    };
  }
  if (has_fault(92)) {
    aot_table.op_table = [](etb_plugin*, const etb_op_sink*, etb_error*) { return etb_status{ETB_OK}; };
  }
  if (has_fault(54))
    delegate_table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                               etb_error*) {
      return base_table.delegate->create(plugin, args, out, nullptr);
    };
  if (has_fault(106))
    delegate_table.check_payload = [](etb_plugin* plugin, const etb_payload_check* check,
                                      etb_verdict* verdict, etb_error* error) {
      error->code = ETB_OK;
      return base_table.delegate->check_payload(plugin, check, verdict, error);
    };
  if (has_fault(107))
    device_table.open = [](etb_plugin* plugin, const uint8_t*, const etb_option* options,
                           uint64_t option_count, etb_device** out, etb_error* error) {
      etb_device_info any{};
      const etb_device_sink sink = {ETB_INIT_SIZE(etb_device_sink), 0, &any,
                                    [](void* ctx, const etb_device_info* info) {
                                      *static_cast<etb_device_info*>(ctx) = *info;
                                      return etb_status{ETB_OK};
                                    }};
      (void)base_table.device->enumerate(plugin, &sink, error);
      return base_table.device->open(plugin, any.uuid, options, option_count, out, error);
    };
  if (has_fault(109))
    delegate_table.context_destroy = [](etb_context* context, etb_error* error) {
      return has_lost_device ? etb::fail(error, ETB_UNAVAILABLE, "the device is lost")
                             : base_table.delegate->context_destroy(context, error);
    };
  if (has_fault(112))
    delegate_table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                               etb_error* error) {
      etb_delegate_args without = *args;
      without.options = nullptr;
      without.option_count = 0;
      return base_table.delegate->create(plugin, &without, out, error);
    };
  if (has_fault(57))
    device_table.enumerate = [](etb_plugin* plugin, const etb_device_sink* sink, etb_error* error) {
      return partition_count++ % 2 == 0 ? base_table.device->enumerate(plugin, sink, error)
                                        : etb_status{ETB_OK};
    };
}

}  // namespace faulty
