// SPDX-License-Identifier: Apache-2.0
#include "host/testing/toy_application.hpp"

#include <atomic>

#include "api/testing/program_builder.hpp"
#include "etb/cpp/fail.hpp"
#include "host/testing/toy_plugin.hpp"

namespace etb::host {
namespace {

std::atomic<bool> is_shared = false;
std::atomic<uint64_t> latest_run_id = 0;
std::atomic<uint32_t> latest_priority = 0;
std::atomic<int> delegates_made = 0, delegates_ended = 0, contexts_made = 0, contexts_ended = 0;

etb_status ETB_CALL put_schemas(etb_plugin* plugin, const etb_option_schema_sink* sink, etb_error* error) {
  if (const etb_status status = toy_tables().plugin.option_schema(plugin, sink, error); status != ETB_OK)
    return status;
  etb_option zero{};
  zero.struct_size = sizeof zero;
  etb_option_schema schema{};
  schema.struct_size = sizeof schema;
  schema.mutable_when = ETB_OPTION_FIXED;
  schema.default_value = &zero;
  schema.key = zero.key = "bias";
  schema.doc = "what a run adds besides";
  schema.type = zero.type = ETB_OPTION_F64;
  schema.scopes = ETB_OBJECT_RUN;
  if (const etb_status status = sink->put(sink->ctx, &schema); status != ETB_OK) return status;
  schema.key = zero.key = "share";
  schema.doc = "whether others may open the device, too";
  schema.type = zero.type = ETB_OPTION_BOOL;
  schema.scopes = ETB_OBJECT_DEVICE;
  return sink->put(sink->ctx, &schema);
}

etb_status ETB_CALL open_device(etb_plugin* plugin, const uint8_t* uuid, const etb_option* options,
                                uint64_t option_count, etb_device** out, etb_error* error) {
  is_shared = option_count == 1 && std::strcmp(options->key, "share") == 0 && options->i64 == 1;
  return toy_tables().device.open(plugin, uuid, options, is_shared ? 0 : option_count, out, error);
}

etb_status ETB_CALL execute(etb_context* context, const etb_exec_args* args, etb_error* error) {
  latest_run_id = args->run_id;
  latest_priority = args->priority;
  if (const etb_status status = toy_tables().delegate.execute(context, args, error); status != ETB_OK)
    return status;
  for (uint64_t i = 0; i < args->option_count; ++i) {
    const etb_option* const option = ETB_AT(etb_option, args->options, i);
    if (std::strcmp(option->key, "bias") != 0)
      return fail(error, ETB_INVALID_ARGUMENT, "unknown option '%s'", option->key);
    for (int64_t k = 0; k < args->outputs[0].sizes[0]; ++k)
      static_cast<float*>(args->outputs[0].data)[k] += static_cast<float>(option->f64);
  }
  return ETB_OK;
}

void count_objects(etb_delegate_table& table) {
  table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                    etb_error* error) -> etb_status {
    const etb_status status = toy_tables().delegate.create(plugin, args, out, error);
    if (status == ETB_OK) ++delegates_made;
    return status;
  };
  table.destroy = [](etb_delegate* delegate, etb_error* error) -> etb_status {
    ++delegates_ended;
    return toy_tables().delegate.destroy(delegate, error);
  };
  table.context_create = [](etb_delegate* delegate, const etb_option* options, uint64_t option_count,
                            etb_context** out, etb_error* error) -> etb_status {
    const etb_status status =
        toy_tables().delegate.context_create(delegate, options, option_count, out, error);
    if (status == ETB_OK) ++contexts_made;
    return status;
  };
  table.context_destroy = [](etb_context* context, etb_error* error) -> etb_status {
    ++contexts_ended;
    return toy_tables().delegate.context_destroy(context, error);
  };
}

const etb_plugin_table* ETB_CALL query(const etb_host*, uint32_t, uint32_t) {
  static const auto toy = [] {
    auto made = std::make_unique<ToyPlugin>();
    made->plugin.option_schema = put_schemas;
    made->device.open = open_device;
    made->delegate.execute = execute;
    count_objects(made->delegate);
    return made;
  }();
  return &toy->plugin;
}

const etb_static_plugin kPlugin = {ETB_INIT_SIZE(etb_static_plugin), 0, &query, kToyBackend};

}  // namespace

etb_registry_options toy_registry_options() {
  etb_registry_options options = ETB_REGISTRY_OPTIONS_INIT;
  options.flags = ETB_REGISTRY_ONLY_PATHS;
  options.static_plugins = &kPlugin;
  options.static_plugin_count = 1;
  options.thread_count = 2;
  return options;
}

const char* toy_plugin_id() { return toy_tables().ident.id; }

bool toy_device_was_shared() { return is_shared; }

ToyRun latest_toy_run() { return {latest_run_id, latest_priority}; }

ToyCounts toy_counts() {
  return {delegates_made, delegates_made - delegates_ended, contexts_made, contexts_made - contexts_ended};
}

AlignedBytes toy_program(const std::string& backend_id) {
  format::ProgramSpec program = format::add_program(4);
  auto& method = program.methods[0];
  method.inputs = {0};
  method.outputs = {1};
  method.delegates = {{backend_id, 1, 0, {}}};
  method.instructions = {{2, 0, 0, {0, 1}}};
  program.segments = {kToyPayload};
  return AlignedBytes(format::build_program(program));
}

AlignedBytes two_branch_program() {
  format::ProgramSpec program = format::add_program(4);
  auto& method = program.methods[0];
  for (const uint64_t offset : {48, 64}) {
    format::TensorSpec between = std::get<format::TensorSpec>(method.values[0]);
    between.memory_offset = offset;
    method.values.emplace_back(between);
  }
  method.arena_sizes[1] = 80;
  method.inputs = {0};
  method.delegates = {{"ToyBackend", 1, 0, {}}, {"ToyBackend", 1, 0, {}}};
  method.instructions = {{2, 0, 0, {0, 4}}, {2, 1, 0, {0, 5}}, {1, 0, 0, {4, 5, 3, 2, 2}}};
  program.segments = {kToyPayload};
  return AlignedBytes(format::build_program(program));
}

AlignedBytes endless_program() {
  constexpr uint8_t kMove = 3, kJumpFalse = 4;
  format::MethodSpec method;
  method.values = {false, int64_t{1}, int64_t{2}};
  method.instructions = {{kMove, 1, 2, {}}, {kJumpFalse, 0, 0, {}}};  // back over a move
  format::ProgramSpec program;
  program.methods = {method};
  return AlignedBytes(format::build_program(program));
}

}  // namespace etb::host
