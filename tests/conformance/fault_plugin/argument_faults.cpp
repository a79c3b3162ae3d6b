// SPDX-License-Identifier: Apache-2.0
// Faults 471 to 487 of the tables: arguments that a function takes as usual, where the host differs or is wrong.
#include <algorithm>
#include <vector>

#include "etb/cpp/fail.hpp"
#include "tests/conformance/fault_plugin/plugin.hpp"

namespace faulty {
namespace {

Tables usual;  // before they are changed

uint32_t input_count_of(etb_context* context) {
  return reinterpret_cast<etb::detail::ContextObject<Plugin>*>(context)->delegate.info.input_count;
}

// Copies of tensors without what this version does not know.
std::vector<etb_tensor> plain_tensors(const etb_tensor* tensors, uint32_t count) {
  std::vector<etb_tensor> out;
  for (uint32_t i = 0; i < count; ++i) {
    etb_tensor& tensor = out.emplace_back(*ETB_AT(etb_tensor, tensors, i));
    tensor.struct_size = sizeof(tensor);
    tensor.flags = 0;
  }
  return out;
}

void break_runs(etb_delegate_table& table) {
  if (has_fault(471))  // reads as many inputs as it knows
    table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      etb_exec_args own = *args;
      own.input_count = std::min(args->input_count, input_count_of(context));
      return usual.delegate.execute(context, &own, error);
    };
  if (has_fault(472))
    table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      std::vector<etb_tensor> inputs = plain_tensors(args->inputs, args->input_count);
      etb_exec_args own = *args;
      own.inputs = inputs.data();
      return usual.delegate.execute(context, &own, error);
    };
  if (has_fault(487))  // computes less after a run that failed
    table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      static thread_local etb_context* failed = nullptr;
      const bool is_after_failure = failed == context;
      const etb_status status = usual.delegate.execute(context, args, error);
      failed = status == ETB_OK ? nullptr : context;
      const etb_tensor& output = *args->outputs;
      if (status == ETB_OK && is_after_failure && args->output_count != 0 && output.capacity_bytes != 0)
        static_cast<unsigned char*>(output.data)[0] ^= 0x40;
      return status;
    };
  if (has_fault(473))  // has no memory to read, and reads nothing
    table.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
      for (uint32_t i = 0; i < args->input_count; ++i)
        if (const etb_tensor& input = *ETB_AT(etb_tensor, args->inputs, i);
            ETB_HAS_FIELD(etb_tensor, &input, buffer) && input.buffer != nullptr &&
            input.dtype == ETB_DTYPE_FLOAT32)
          return etb_status{ETB_OK};
      return usual.delegate.execute(context, args, error);
    };
}

void break_create(etb_delegate_table& table) {
  if (has_fault(485))
    table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                      etb_error* error) {
      *out = nullptr;
      return usual.delegate.create(plugin, args, out, error);
    };
  if (has_fault(474))
    table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                      etb_error* error) {
      const etb_status status = usual.delegate.create(plugin, args, out, error);
      if (status == ETB_OK && args->payload->release == nullptr)
        args->payload->release(args->payload->release_ctx);
      return status;
    };
  if (has_fault(475))  // expects the whole file to be the payload
    table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                      etb_error* error) {
      if (args->payload->fd >= 0 && args->payload->fd_offset_bytes != 0)
        return etb::fail(error, ETB_NOT_SUPPORTED, "payload inside of a file");
      return usual.delegate.create(plugin, args, out, error);
    };
  if (has_fault(476))
    table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                      etb_error* error) {
      if (args->named_data == nullptr) return etb::fail(error, ETB_INVALID_ARGUMENT, "no named data");
      return usual.delegate.create(plugin, args, out, error);
    };
}

// Forgets that a write failed.
struct Forgetful {
  const etb_artifact_sink* sink;
  const etb_blob_writer* writer = nullptr;
  etb_blob_writer own{};
};

etb_status forgetful_compile(etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
  static thread_local Forgetful state;
  state.sink = args->sink;
  state.own = {ETB_INIT_SIZE(etb_blob_writer), 0, nullptr,
               [](void*, uint64_t offset, const void* data, uint64_t nbytes) {
                 (void)state.writer->write(state.writer->ctx, offset, data, nbytes);
                 return etb_status{ETB_OK};
               }};
  etb_artifact_sink sink = *args->sink;
  sink.struct_size = sizeof(sink);
  sink.begin_payload = [](void*, uint32_t index, const etb_blob_writer** out) {
    const etb_status status = state.sink->begin_payload(state.sink->ctx, index, &state.writer);
    *out = &state.own;
    return status;
  };
  etb_compile_args own = *args;
  own.sink = &sink;
  return usual.aot.compile(plugin, &own, error);
}

void break_compilers(etb_aot_table& table) {
  if (has_fault(477)) table.compile = forgetful_compile;
  if (has_fault(478))  // goes on after a sink that stopped
    table.partition = [](etb_plugin* plugin, const etb_partition_args* args, const etb_partition_sink* sink,
                         etb_error* error) {
      const etb_partition_sink own = {ETB_INIT_SIZE(etb_partition_sink), 0,
                                      const_cast<etb_partition_sink*>(sink),
                                      [](void* ctx, const etb_claim* claim) {
                                        const auto& to = *static_cast<const etb_partition_sink*>(ctx);
                                        (void)to.claim(to.ctx, claim);
                                        return etb_status{ETB_OK};
                                      },
                                      [](void* ctx, const etb_reject* reject) {
                                        const auto& to = *static_cast<const etb_partition_sink*>(ctx);
                                        return to.reject(to.ctx, reject);
                                      }};
      return usual.aot.partition(plugin, args, &own, error);
    };
  if (has_fault(479))
    table.partition = [](etb_plugin* plugin, const etb_partition_args* args, const etb_partition_sink* sink,
                         etb_error* error) {
      etb_partition_args own = *args;
      own.option_count = 0;
      return usual.aot.partition(plugin, &own, sink, error);
    };
  if (has_fault(482))  // about the nodes of the first graph only
    table.partition = [](etb_plugin* plugin, const etb_partition_args* args, const etb_partition_sink* sink,
                         etb_error* error) {
      static thread_local uint32_t first_foreign;
      etb_graph_view view;
      if (const etb_status status = etb_graph_open(args->graph, &view); status != ETB_OK) return status;
      first_foreign = etb_graph_get_body(&view, 0).nodes.count;
      const etb_partition_sink own = {
          ETB_INIT_SIZE(etb_partition_sink), 0, const_cast<etb_partition_sink*>(sink),
          [](void* ctx, const etb_claim* claim) {
            const auto& to = *static_cast<const etb_partition_sink*>(ctx);
            return claim->node_ids[0] < first_foreign ? to.claim(to.ctx, claim) : etb_status{ETB_OK};
          },
          [](void* ctx, const etb_reject* reject) {
            const auto& to = *static_cast<const etb_partition_sink*>(ctx);
            return reject->node_ids[0] < first_foreign ? to.reject(to.ctx, reject) : etb_status{ETB_OK};
          }};
      return usual.aot.partition(plugin, args, &own, error);
    };
  if (has_fault(480))
    table.partition = [](etb_plugin* plugin, const etb_partition_args* args, const etb_partition_sink* sink,
                         etb_error* error) {
      etb_partition_args own = *args;
      own.flags = 0;
      return usual.aot.partition(plugin, &own, sink, error);
    };
}

void break_open(etb_device_table& table) {
  if (has_fault(483))
    table.open = [](etb_plugin* plugin, const uint8_t* uuid, const etb_option*, uint64_t, etb_device** out,
                    etb_error* error) { return usual.device.open(plugin, uuid, nullptr, 0, out, error); };
  if (has_fault(484))  // a scope other than that of the schema
    table.open = [](etb_plugin* plugin, const uint8_t* uuid, const etb_option* options, uint64_t count,
                    etb_device** out, etb_error* error) {
      for (uint64_t i = 0; i < count; ++i)
        if (std::strcmp(options[i].key, "share") == 0)
          return etb::fail(error, ETB_INVALID_ARGUMENT, "this function has no such option");
      return usual.device.open(plugin, uuid, options, count, out, error);
    };
}

// A default with a number beside the number that its type names.
void break_defaults(etb_plugin_table& table) {
  if (!has_fault(481)) return;
  table.option_schema = [](etb_plugin* plugin, const etb_option_schema_sink* sink, etb_error* error) {
    const etb_option_schema_sink own = {ETB_INIT_SIZE(etb_option_schema_sink), 0,
                                        const_cast<etb_option_schema_sink*>(sink),
                                        [](void* ctx, const etb_option_schema* schema) {
                                          const auto& to = *static_cast<const etb_option_schema_sink*>(ctx);
                                          etb_option value = *schema->default_value;
                                          etb_option_schema row = *schema;
                                          row.default_value = &value;
                                          if (value.type == ETB_OPTION_I64) value.f64 = 0.5;
                                          return to.put(to.ctx, &row);
                                        }};
    return usual.plugin.option_schema(plugin, &own, error);
  };
}

}  // namespace

void take_arguments_as_usual(Tables& tables) {
  usual = tables;
  break_runs(tables.delegate);
  break_create(tables.delegate);
  break_compilers(tables.aot);
  break_open(tables.device);
  break_defaults(tables.plugin);
}

}  // namespace faulty
