// SPDX-License-Identifier: Apache-2.0
#include "conformance/subject/longer_structs.hpp"

#include <cstring>
#include <vector>

namespace etb::conformance {
namespace {

// A struct and fields that this version does not know. They are not zero: a newer host uses them.
template <class Struct>
struct Longer {
  Struct value;
  unsigned char later[64];

  explicit Longer(const Struct& from) : value(from) {
    value.struct_size = static_cast<uint32_t>(sizeof(Longer));
    std::memset(later, 0x3c, sizeof(later));
  }
};

// A copy of an array, for as long as it lives. Elements that the callee changed are written back.
template <class Struct>
class LongerArray {
 public:
  LongerArray(const Struct* from, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) items_.emplace_back(*ETB_AT(Struct, from, i));
  }
  Struct* get() { return items_.empty() ? nullptr : &items_[0].value; }
  uint64_t count() const { return items_.size(); }

 protected:
  void add(const Struct& item) { items_.emplace_back(item); }

 private:
  std::vector<Longer<Struct>> items_;
};

// Options and then two hints, which a plugin ignores (ABI-OPT-01), so that none is the only one.
class LongerOptions : public LongerArray<etb_option> {
 public:
  LongerOptions(const etb_option* from, uint64_t count) : LongerArray(from, count) {
    for (const char* key : {"x-suite-hint", "x-suite-other-hint"}) {
      etb_option hint{};
      hint.struct_size = ETB_INIT_SIZE(etb_option);
      hint.key = key;
      hint.type = ETB_OPTION_I64;
      add(hint);
    }
  }
};

const etb_plugin_table* plugin_of_library = nullptr;
const etb_device_table* device_of_library = nullptr;
const etb_delegate_table* delegate_of_library = nullptr;
const etb_aot_table* aot_of_library = nullptr;

etb_status ETB_CALL init(const etb_host* host, const etb_option* options, uint64_t count, etb_plugin** out,
                         etb_error* error) {
  LongerOptions longer(options, count);
  return plugin_of_library->init(host, longer.get(), longer.count(), out, error);
}

etb_status ETB_CALL open_device(etb_plugin* plugin, const uint8_t* uuid, const etb_option* options,
                                uint64_t count, etb_device** out, etb_error* error) {
  LongerOptions longer(options, count);
  return device_of_library->open(plugin, uuid, longer.get(), longer.count(), out, error);
}

etb_status ETB_CALL context_create(etb_delegate* delegate, const etb_option* options, uint64_t count,
                                   etb_context** out, etb_error* error) {
  LongerOptions longer(options, count);
  return delegate_of_library->context_create(delegate, longer.get(), longer.count(), out, error);
}

etb_status ETB_CALL create(etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                           etb_error* error) {
  Longer<etb_delegate_args> longer(*args);
  Longer<etb_payload_view> payload(*args->payload);
  LongerArray<etb_compile_spec> specs(args->specs, args->spec_count);
  LongerOptions options(args->options, args->option_count);
  longer.value.payload = &payload.value;
  longer.value.specs = specs.get();
  longer.value.options = options.get();
  longer.value.option_count = options.count();
  return delegate_of_library->create(plugin, &longer.value, out, error);
}

etb_status ETB_CALL reserve(etb_context* context, const etb_tensor* inputs, uint32_t count,
                            etb_error* error) {
  LongerArray<etb_tensor> longer(inputs, count);
  return delegate_of_library->context_reserve(context, longer.get(), count, error);
}

etb_status ETB_CALL execute(etb_context* context, const etb_exec_args* args, etb_error* error) {
  Longer<etb_exec_args> longer(*args);
  LongerArray<etb_tensor> inputs(args->inputs, args->input_count), outputs(args->outputs, args->output_count);
  LongerOptions options(args->options, args->option_count);
  longer.value.inputs = inputs.get();
  longer.value.outputs = outputs.get();
  longer.value.options = options.get();
  longer.value.option_count = options.count();
  return delegate_of_library->execute(context, &longer.value, error);
}

etb_status ETB_CALL partition(etb_plugin* plugin, const etb_partition_args* args,
                              const etb_partition_sink* sink, etb_error* error) {
  Longer<etb_partition_args> longer(*args);
  LongerArray<etb_graph_image> graph(args->graph, 1);
  LongerOptions options(args->options, args->option_count);
  Longer<etb_partition_sink> to(*sink);
  longer.value.graph = graph.get();
  longer.value.options = options.get();
  longer.value.option_count = options.count();
  return aot_of_library->partition(plugin, &longer.value, &to.value, error);
}

etb_status ETB_CALL compile(etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
  Longer<etb_compile_args> longer(*args);
  LongerArray<etb_graph_image> graphs(args->graphs, args->graph_count);
  LongerOptions options(args->options, args->option_count);
  Longer<etb_artifact_sink> sink(*args->sink);
  Longer<etb_constant_reader> constants(*args->constants);
  longer.value.graphs = graphs.get();
  longer.value.options = options.get();
  longer.value.option_count = options.count();
  longer.value.sink = &sink.value;
  longer.value.constants = &constants.value;
  return aot_of_library->compile(plugin, &longer.value, error);
}

}  // namespace

void LongerStructs::wrap(etb_plugin_table& table) {
  plugin_ = table;
  plugin_of_library = &plugin_;
  table.init = init;
  if (table.device != nullptr) {
    device_ = *(device_of_library = table.device);
    device_.open = open_device;
    table.device = &device_;
  }
  if (table.delegate != nullptr) {
    delegate_ = *(delegate_of_library = table.delegate);
    delegate_.create = create;
    delegate_.context_create = context_create;
    delegate_.execute = execute;
    if (delegate_.context_reserve != nullptr) delegate_.context_reserve = reserve;
    table.delegate = &delegate_;
  }
  if (table.aot != nullptr) {
    aot_ = *(aot_of_library = table.aot);
    aot_.partition = partition;
    aot_.compile = compile;
    table.aot = &aot_;
  }
}

}  // namespace etb::conformance
