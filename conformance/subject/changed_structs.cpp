// SPDX-License-Identifier: Apache-2.0
#include "conformance/subject/changed_structs.hpp"

#include <cstring>
#include <vector>

namespace etb::conformance {
namespace {

StructChanges* changes = nullptr;
bool is_changed_call = false;

// Changes the structs of one call of a function.
class Call {
 public:
  explicit Call(const char* function) {
    is_changed_call = changes->change != StructChange::kLonger && changes->function == function;
    if (!is_changed_call) return;
    changes->count = 0;
    changes->changed.clear();
  }
  ~Call() { is_changed_call = false; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
};

// True if the struct, which is the next of this call, is to be changed.
bool is_next_changed() { return is_changed_call && changes->count++ == changes->index; }

template <class Struct>
void change(Struct& value, const char* name) {
  changes->changed = name;
  if (changes->change == StructChange::kFlag) value.flags |= 0x80000000u;
  if (changes->change == StructChange::kShort) value.struct_size = 2 * sizeof(uint32_t);
  if (changes->change != StructChange::kReserved) return;
  if constexpr (requires { value.reserved = 1; })
    value.reserved = 1;
  else if constexpr (requires { value.reserved_pointer = &value; })
    value.reserved_pointer = &value;
  else
    changes->changed.clear();
}

// Fields that this version does not know follow a struct of kLonger. They are not zero: a newer host uses them.
template <class Struct>
struct WithTail {
  Struct value;
  unsigned char later[64];

  explicit WithTail(const Struct& from) : value(from) {
    std::memset(later, 0x3c, sizeof(later));
    if (changes->change == StructChange::kLonger) value.struct_size = static_cast<uint32_t>(sizeof(WithTail));
  }
};

template <class Struct>
class Changed {
 public:
  Changed(const Struct& from, const char* name) : item_(from) {
    if (is_next_changed()) change(item_.value, name);
  }
  Struct* operator->() { return &item_.value; }
  const Struct* get() const { return &item_.value; }

 private:
  WithTail<Struct> item_;
};

// A pointer that may be NULL.
template <class Struct>
class ChangedPointer {
 public:
  ChangedPointer(const Struct* from, const char* name)
      : from_(from), copy_(from != nullptr ? *from : Struct{}) {
    if (from != nullptr && is_next_changed()) change(copy_, name);
  }
  // The copy of a changed call. Callees of kLonger get the original: its callbacks and their state are the host's.
  const Struct* get() const { return from_ == nullptr || !is_changed_call ? from_ : &copy_; }

 private:
  const Struct* from_;
  Struct copy_;
};

// A copy of an array, for as long as it lives. Each element may be changed; their size is that of the first.
template <class Struct>
class ChangedArray {
 public:
  ChangedArray(const Struct* from, uint64_t count, const char* name) {
    for (uint64_t i = 0; i < count; ++i) {
      items_.emplace_back(*ETB_AT(Struct, from, i));
      if (changes->change != StructChange::kLonger) items_.back().value.struct_size = sizeof(items_[0]);
      if (changes->change != StructChange::kShort && is_next_changed()) change(items_.back().value, name);
    }
    if (changes->change == StructChange::kShort && count != 0 && is_next_changed())
      for (WithTail<Struct>& item : items_) change(item.value, name);
  }
  Struct* get() { return items_.empty() ? nullptr : &items_[0].value; }
  uint64_t count() const { return items_.size(); }

 protected:
  void add(const Struct& item) { items_.emplace_back(item); }

 private:
  std::vector<WithTail<Struct>> items_;
};

// With kLonger, two hints follow the options. A plugin ignores them (ABI-OPT-01), so that none is the only option.
class ChangedOptions : public ChangedArray<etb_option> {
 public:
  ChangedOptions(const etb_option* from, uint64_t count) : ChangedArray(from, count, "an option") {
    if (changes->change != StructChange::kLonger) return;
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
  const Call call("init");
  ChangedOptions changed(options, count);
  return plugin_of_library->init(host, changed.get(), changed.count(), out, error);
}

etb_status ETB_CALL open_device(etb_plugin* plugin, const uint8_t* uuid, const etb_option* options,
                                uint64_t count, etb_device** out, etb_error* error) {
  const Call call("open");
  ChangedOptions changed(options, count);
  return device_of_library->open(plugin, uuid, changed.get(), changed.count(), out, error);
}

etb_status ETB_CALL context_create(etb_delegate* delegate, const etb_option* options, uint64_t count,
                                   etb_context** out, etb_error* error) {
  const Call call("context_create");
  ChangedOptions changed(options, count);
  return delegate_of_library->context_create(delegate, changed.get(), changed.count(), out, error);
}

etb_status ETB_CALL check_payload(etb_plugin* plugin, const etb_payload_check* check, etb_verdict* out,
                                  etb_error* error) {
  const Call call("check_payload");
  Changed<etb_payload_check> changed(*check, "etb_payload_check");
  ChangedArray<etb_compile_spec> specs(check->specs, check->spec_count, "a compile spec");
  changed->specs = specs.get();
  return delegate_of_library->check_payload(plugin, changed.get(), out, error);
}

etb_status ETB_CALL create(etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                           etb_error* error) {
  const Call call("create");
  Changed<etb_delegate_args> changed(*args, "etb_delegate_args");
  Changed<etb_payload_view> payload(*args->payload, "etb_payload_view");
  ChangedArray<etb_compile_spec> specs(args->specs, args->spec_count, "a compile spec");
  ChangedOptions options(args->options, args->option_count);
  changed->payload = payload.get();
  changed->specs = specs.get();
  changed->options = options.get();
  changed->option_count = options.count();
  return delegate_of_library->create(plugin, changed.get(), out, error);
}

etb_status ETB_CALL reserve(etb_context* context, const etb_tensor* inputs, uint32_t count,
                            etb_error* error) {
  const Call call("context_reserve");
  ChangedArray<etb_tensor> changed(inputs, count, "an input");
  return delegate_of_library->context_reserve(context, changed.get(), count, error);
}

etb_status ETB_CALL execute(etb_context* context, const etb_exec_args* args, etb_error* error) {
  const Call call("execute");
  Changed<etb_exec_args> changed(*args, "etb_exec_args");
  ChangedArray<etb_tensor> inputs(args->inputs, args->input_count, "an input");
  ChangedArray<etb_tensor> outputs(args->outputs, args->output_count, "an output");
  ChangedOptions options(args->options, args->option_count);
  changed->inputs = inputs.get();
  changed->outputs = outputs.get();
  changed->options = options.get();
  changed->option_count = options.count();
  return delegate_of_library->execute(context, changed.get(), error);
}

etb_status ETB_CALL partition(etb_plugin* plugin, const etb_partition_args* args,
                              const etb_partition_sink* sink, etb_error* error) {
  const Call call("partition");
  Changed<etb_partition_args> changed(*args, "etb_partition_args");
  ChangedArray<etb_graph_image> graph(args->graph, 1, "a graph image");
  const ChangedPointer<etb_target> target(args->target, "a target");
  ChangedOptions options(args->options, args->option_count);
  Changed<etb_partition_sink> to(*sink, "etb_partition_sink");
  changed->graph = graph.get();
  changed->target = target.get();
  changed->options = options.get();
  changed->option_count = options.count();
  return aot_of_library->partition(plugin, changed.get(), to.get(), error);
}

etb_status ETB_CALL compile(etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
  const Call call("compile");
  Changed<etb_compile_args> changed(*args, "etb_compile_args");
  ChangedArray<etb_graph_image> graphs(args->graphs, args->graph_count, "a graph image");
  ChangedArray<etb_compile_spec> specs(args->specs, args->spec_count, "a compile spec");
  const ChangedPointer<etb_target> target(args->target, "a target");
  ChangedOptions options(args->options, args->option_count);
  Changed<etb_artifact_sink> sink(*args->sink, "etb_artifact_sink");
  // A plugin does not read it for a graph without constants: it is longer, and never wrong.
  const WithTail<etb_constant_reader> constants(*args->constants);
  changed->graphs = graphs.get();
  changed->specs = specs.get();
  changed->target = target.get();
  changed->options = options.get();
  changed->option_count = options.count();
  changed->sink = sink.get();
  changed->constants = &constants.value;
  return aot_of_library->compile(plugin, changed.get(), error);
}

}  // namespace

void ChangedStructs::wrap(etb_plugin_table& table, StructChanges& what) {
  changes = &what;
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
    if (delegate_.check_payload != nullptr) delegate_.check_payload = check_payload;
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
