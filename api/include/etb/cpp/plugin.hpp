// The plugin base: from two plain classes to a whole plugin. ETB_DEFINE_PLUGIN makes the tables, the note section and the query
// function; which optional functions a class has decides the capability bits.
//
//   struct MyNpu {                                            // one per host, made by init
//     using Delegate = MyDelegate;
//     static etb::Result<MyNpu> make(const etb::Host&, const etb::Options&);       // optional: else MyNpu{}
//     static constexpr uint32_t kFlags = ETB_PLUGIN_...;                           // optional: claims about itself
//     static constexpr etb::OptionRow kOptions[] = {...};                          // optional: every option, all scopes
//     etb::Verdict check_payload(const etb_payload_check&) const;                  // optional: else "unknown"
//     etb::Status enumerate(const etb::DeviceSink&) const;                         // optional: else one device of kind "cpu"
//     const void* get_extension(uint32_t object_kind, std::string_view id) const;  // optional
//     static constexpr etb::OpRow kOps[] = {...};                                  // these three make the ahead-of-time part
//     etb::Claim claim(const etb::Node&) const;                                    //   optional: what the rows cannot say
//     etb::Result<etb::Artifact> compile(const etb::Region&) const;
//     etb::Status partition(const etb::Graph&, const etb::PartitionSink&) const;   // optional: in place of claim, for patterns
//     static constexpr const char* kPreserveOps[] = {...};                         // optional: ATen ops not to decompose
//   };
//   struct MyDelegate {                                       // one per payload; shared by its contexts
//     static etb::Result<MyDelegate> make(const MyNpu&, etb::CreateArgs&);
//     etb::DelegateInfo info() const;
//     void describe_io(etb_io_req&) const;                                         // optional: alignment, kinds, spec
//     using Context = MyContext;                                                   // optional, or in its place:
//     etb::Status execute(const etb::Run&) const;                                  //   runs without state of their own
//   };
//   struct MyContext {                                        // one run in flight
//     explicit MyContext(const MyDelegate&);
//     etb::Status execute(const etb::Run&);
//     etb::Status reserve(std::span<const etb::Tensor>);                           // optional: ABI-EXEC-02
//     etb::Status cancel();                                                        // optional, called on any thread
//   };
//   ETB_DEFINE_PLUGIN(MyNpu, "com.example.my-npu", "Example Inc.", "0.1.0")
//
// The base keeps these rules for the plugin: CALL-01, CALL-03, SIZE-02 to 04, TYPE-02, OPT-01, LIFE-01, ERR-01 and 02, SINK-02,
// VER-02, AOT-01, DEV-01, PROF-02. Extended functions that it does not wrap (execute_async, set_option, estimate, ...) are reached
// by changing the table: see `etb::plugin_table`.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "etb/cpp/compile.hpp"
#include "etb/cpp/guard.hpp"
#include "etb/cpp/host.hpp"
#include "etb/cpp/option.hpp"
#include "etb/cpp/payload.hpp"
#include "etb/cpp/run.hpp"
#include "etb/plugin.h"

namespace etb {

// What a delegate is given when it is made.
struct CreateArgs {
  Payload payload;  // take it (std::move) to keep the bytes; what is left here is released when make returns
  NamedData named_data;
  CompileSpecs specs;
  Options options;  // scope delegate
  std::string_view backend_id;
  const Host& host;
  const uint8_t* device_uuid;  // 16 bytes, NULL: the default device
};

struct DelegateInfo {
  uint32_t input_count = 0;
  uint32_t output_count = 0;
  uint64_t resident_bytes = 0;
  uint64_t context_bytes = 0;
  uint64_t scratch_bytes = 0;  // Run::scratch() then has so many
  uint64_t scratch_alignment = 64;
  uint32_t max_contexts = ETB_UNLIMITED;
};

// Takes the devices of the machine.
class DeviceSink {
 public:
  explicit DeviceSink(const etb_device_sink* raw) : raw_(raw) {}
  Status put(const etb_device_info& info) const {
    return from_host(raw_->put(raw_->ctx, &info), "device sink");
  }

 private:
  const etb_device_sink* raw_;
};

namespace detail {

template <class P>
constexpr std::span<const OptionRow> option_rows() {
  if constexpr (requires { P::kOptions; })
    return P::kOptions;
  else
    return {};
}

template <class P>
constexpr bool kHasAot = requires {
  P::kOps;
};

template <class P>
constexpr uint32_t plugin_flags() {
  if constexpr (requires { P::kFlags; })
    return P::kFlags;
  else
    return 0;
}

template <class P>
constexpr uint32_t profiles() {
  return ETB_PROFILE_RUNTIME | (kHasAot<P> ? ETB_PROFILE_AOT : 0);
}

// For a delegate whose runs have no state of their own.
template <class D>
struct StatelessContext {
  explicit StatelessContext(const D& made) : delegate(&made) {}
  Status execute(const Run& run) const { return delegate->execute(run); }
  const D* delegate;
};

template <class D>
struct ContextOf {
  using Type = StatelessContext<D>;
};
template <class D>
requires requires { typename D::Context; }
struct ContextOf<D> {
  using Type = typename D::Context;
};

// What stands behind the handles. Each counts what was made from it, because an early destroy answers ETB_BUSY (ABI-LIFE-01).
template <class P>
struct PluginObject {
  Host host;
  P impl;
  std::atomic<uint32_t> children{0};
};
template <class P>
struct DeviceObject {
  PluginObject<P>& plugin;
  std::array<uint8_t, 16> uuid;
  std::atomic<uint32_t> children{0};
};
template <class P>
struct DelegateObject {
  PluginObject<P>& plugin;
  std::atomic<uint32_t>& siblings;  // the count of the device, or of the plugin
  typename P::Delegate impl;
  DelegateInfo info;
  std::atomic<uint32_t> children{0};
};
template <class P>
struct ContextObject {
  DelegateObject<P>& delegate;
  typename ContextOf<typename P::Delegate>::Type impl;
};

// Deletes an object that nothing was made from and takes it off its parent's count.
template <class T>
Status end_object(T* object, std::atomic<uint32_t>* siblings, const char* name) {
  if (object == nullptr) return make_error(Code::INVALID_HANDLE, std::string(name) + ": found NULL");
  if constexpr (requires { object->children; }) {
    if (const uint32_t alive = object->children.load(); alive != 0)
      return make_error(Code::BUSY,
                        std::string(name) + ": " + std::to_string(alive) + " objects made from it are alive");
  }
  delete object;
  if (siblings != nullptr) siblings->fetch_sub(1);
  return {};
}

// A made thing by value, from a static `make` or a default constructor.
template <class P>
Result<P> make_plugin(const Host& host, const Options& options) {
  if constexpr (requires { P::make(host, options); })
    return P::make(host, options);
  else
    return P{};
}

// 64 bits of an id, for the default device's uuid and fingerprint (FNV-1a).
constexpr uint64_t hash_text(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// ---- plugin table

template <class P>
etb_status init(const etb_host* host, const etb_option* options, uint64_t option_count, etb_plugin** out,
                etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_TRY(accept_struct(host, ETB_SIZE_THROUGH(etb_host, layer_link), ETB_HOST_SECURE, "etb_host"));
    ETB_ASSIGN(const Options checked,
               Options::make(options, option_count, option_rows<P>(), ETB_OBJECT_PLUGIN));
    const Host services(host);
    ETB_ASSIGN(P made, make_plugin<P>(services, checked));
    *out = reinterpret_cast<etb_plugin*>(new PluginObject<P>{services, std::move(made)});
    return {};
  });
}

template <class P>
etb_status deinit(etb_plugin* plugin, etb_error* error) {
  return guard(error,
               [&] { return end_object(reinterpret_cast<PluginObject<P>*>(plugin), nullptr, "plugin"); });
}

template <class P>
const void* get_extension(etb_plugin* plugin, uint32_t object_kind, void*, const char* id) {
  return reinterpret_cast<PluginObject<P>*>(plugin)->impl.get_extension(object_kind, id);
}

template <class P>
etb_status option_schema(etb_plugin*, const etb_option_schema_sink* sink, etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_TRY(ETB_ACCEPT(etb_option_schema_sink, sink, put));
    for (const OptionRow& row : option_rows<P>()) {
      const etb_option default_value = row.default_option();
      const etb_option_schema schema = row.schema(default_value);
      ETB_TRY(from_host(sink->put(sink->ctx, &schema), "option schema sink"));
    }
    return {};
  });
}

// ---- device table

// Without P::enumerate: the processor that runs the plugin, the same on every machine.
template <class P>
Status enumerate_devices(const PluginObject<P>& plugin, const DeviceSink& sink) {
  if constexpr (requires { plugin.impl.enumerate(sink); }) {
    return plugin.impl.enumerate(sink);
  } else {
    etb_device_info info{};
    info.struct_size = ETB_INIT_SIZE(etb_device_info);
    const uint64_t hash = hash_text("cpu");
    std::memcpy(info.uuid, &hash, sizeof(hash));
    std::memcpy(info.fingerprint, &hash, sizeof(hash));
    info.kind = "cpu";
    info.name = "this processor";
    info.driver_version = "";
    return sink.put(info);
  }
}

template <class P>
etb_status enumerate(etb_plugin* plugin, const etb_device_sink* sink, etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_TRY(ETB_ACCEPT(etb_device_sink, sink, put));
    return enumerate_devices(*reinterpret_cast<PluginObject<P>*>(plugin), DeviceSink(sink));
  });
}

// Enumerates again and passes on only the device of one uuid: to find out whether it is there, and what it is now.
struct OneDevice {
  const uint8_t* uuid;
  const etb_device_sink* sink;  // may be NULL
  bool found = false;

  static etb_status ETB_CALL put(void* ctx, const etb_device_info* info) {
    auto& self = *static_cast<OneDevice*>(ctx);
    if (self.found || std::memcmp(info->uuid, self.uuid, sizeof(info->uuid)) != 0) return ETB_OK;
    self.found = true;
    return self.sink != nullptr ? self.sink->put(self.sink->ctx, info) : ETB_OK;
  }
};

template <class P>
Status find_device(const PluginObject<P>& plugin, const uint8_t* uuid, const etb_device_sink* out) {
  OneDevice wanted{uuid, out};
  const etb_device_sink sink{ETB_INIT_SIZE(etb_device_sink), 0, &wanted, &OneDevice::put};
  ETB_TRY(enumerate_devices(plugin, DeviceSink(&sink)));
  if (!wanted.found) return make_error(Code::NOT_FOUND, "device: no device of this uuid now");
  return {};
}

template <class P>
etb_status device_open(etb_plugin* plugin, const uint8_t* uuid, const etb_option* options,
                       uint64_t option_count, etb_device** out, etb_error* error) {
  return guard(error, [&]() -> Status {
    auto& parent = *reinterpret_cast<PluginObject<P>*>(plugin);
    ETB_TRY(Options::make(options, option_count, option_rows<P>(), ETB_OBJECT_DEVICE));
    ETB_TRY(find_device(parent, uuid, nullptr));
    auto object = std::unique_ptr<DeviceObject<P>>(new DeviceObject<P>{parent, {}});
    std::memcpy(object->uuid.data(), uuid, object->uuid.size());
    parent.children.fetch_add(1);
    *out = reinterpret_cast<etb_device*>(object.release());
    return {};
  });
}

template <class P>
etb_status device_close(etb_device* device, etb_error* error) {
  return guard(error, [&] {
    auto* object = reinterpret_cast<DeviceObject<P>*>(device);
    return end_object(object, object != nullptr ? &object->plugin.children : nullptr, "device");
  });
}

template <class P>
etb_status device_query(etb_device* device, const etb_device_sink* sink, etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_TRY(ETB_ACCEPT(etb_device_sink, sink, put));
    const auto& object = *reinterpret_cast<DeviceObject<P>*>(device);
    return find_device(object.plugin, object.uuid.data(), sink);
  });
}

// ---- delegate table

template <class P>
etb_status check_payload(etb_plugin* plugin, const etb_payload_check* request, etb_verdict* verdict,
                         etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_TRY(ETB_ACCEPT(etb_payload_check, request, spec_count));
    ETB_TRY(ETB_ACCEPT(etb_verdict, verdict, text));
    const auto& object = *reinterpret_cast<PluginObject<P>*>(plugin);
    Verdict answer;
    if constexpr (requires { object.impl.check_payload(*request); })
      answer = object.impl.check_payload(*request);
    verdict->kind = answer.kind;
    verdict->reasons = answer.reasons;
    copy_text(verdict->text, answer.text);
    return {};
  });
}

template <class P>
etb_status delegate_create(etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out,
                           etb_error* error) {
  return guard(error, [&]() -> Status {
    auto& parent = *reinterpret_cast<PluginObject<P>*>(plugin);
    ETB_TRY(ETB_ACCEPT(etb_delegate_args, args, option_count));
    ETB_ASSIGN(CompileSpecs specs, CompileSpecs::make(args->specs, args->spec_count));
    ETB_ASSIGN(Options options,
               Options::make(args->options, args->option_count, option_rows<P>(), ETB_OBJECT_DELEGATE));
    ETB_ASSIGN(Payload payload, Payload::make(args->payload));
    auto* device = reinterpret_cast<DeviceObject<P>*>(args->device);
    CreateArgs given{std::move(payload),
                     NamedData(args->named_data),
                     specs,
                     options,
                     args->backend_id != nullptr ? args->backend_id : "",
                     parent.host,
                     device != nullptr ? device->uuid.data() : nullptr};
    ETB_ASSIGN(auto made, P::Delegate::make(parent.impl, given));
    const DelegateInfo info = made.info();
    std::atomic<uint32_t>& siblings = device != nullptr ? device->children : parent.children;
    *out = reinterpret_cast<etb_delegate*>(new DelegateObject<P>{parent, siblings, std::move(made), info});
    siblings.fetch_add(1);
    return {};
  });
}

template <class P>
etb_status delegate_destroy(etb_delegate* delegate, etb_error* error) {
  return guard(error, [&] {
    auto* object = reinterpret_cast<DelegateObject<P>*>(delegate);
    return end_object(object, object != nullptr ? &object->siblings : nullptr, "delegate");
  });
}

template <class P>
etb_status delegate_query(etb_delegate* delegate, etb_delegate_info* out, etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_TRY(ETB_ACCEPT(etb_delegate_info, out, scratch_alignment));
    const DelegateInfo& info = reinterpret_cast<DelegateObject<P>*>(delegate)->info;
    out->input_count = info.input_count;
    out->output_count = info.output_count;
    out->max_contexts = info.max_contexts;
    out->resident_bytes = info.resident_bytes;
    out->context_bytes = info.context_bytes;
    out->scratch_bytes = info.scratch_bytes;
    out->scratch_alignment = info.scratch_bytes > 0 ? info.scratch_alignment : 0;
    return {};
  });
}

template <class P>
etb_status delegate_query_io(etb_delegate* delegate, const etb_io_req_sink* sink, etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_TRY(ETB_ACCEPT(etb_io_req_sink, sink, put));
    const auto& object = *reinterpret_cast<DelegateObject<P>*>(delegate);
    for (const uint32_t role : {ETB_ROLE_INPUT, ETB_ROLE_OUTPUT}) {
      const uint32_t count = role == ETB_ROLE_INPUT ? object.info.input_count : object.info.output_count;
      for (uint32_t i = 0; i < count; ++i) {
        etb_io_req req{};
        req.struct_size = ETB_INIT_SIZE(etb_io_req);
        req.role = role;
        req.index = i;
        req.alignment = sizeof(double);
        if constexpr (requires { object.impl.describe_io(req); }) object.impl.describe_io(req);
        ETB_TRY(from_host(sink->put(sink->ctx, &req), "io sink"));
      }
    }
    return {};
  });
}

template <class P>
etb_status context_create(etb_delegate* delegate, const etb_option* options, uint64_t option_count,
                          etb_context** out, etb_error* error) {
  return guard(error, [&]() -> Status {
    auto& parent = *reinterpret_cast<DelegateObject<P>*>(delegate);
    ETB_TRY(Options::make(options, option_count, option_rows<P>(), ETB_OBJECT_CONTEXT));
    using Context = typename ContextOf<typename P::Delegate>::Type;
    *out = reinterpret_cast<etb_context*>(new ContextObject<P>{parent, Context(std::as_const(parent.impl))});
    parent.children.fetch_add(1);
    return {};
  });
}

template <class P>
etb_status context_destroy(etb_context* context, etb_error* error) {
  return guard(error, [&] {
    auto* object = reinterpret_cast<ContextObject<P>*>(context);
    return end_object(object, object != nullptr ? &object->delegate.children : nullptr, "context");
  });
}

inline Status accept_tensors(const etb_tensor* tensors, uint32_t count, uint32_t expected, const char* what) {
  if (count != expected)
    return make_error(Code::INVALID_ARGUMENT,
                      std::to_string(count) + " " + what + "s, expected " + std::to_string(expected));
  for (uint32_t i = 0; i < count; ++i) {
    const etb_tensor* tensor = ETB_AT(etb_tensor, tensors, i);
    ETB_TRY(ETB_ACCEPT(etb_tensor, tensor, buffer));
    if (tensor->rank > ETB_MAX_RANK)
      return make_error(Code::INVALID_ARGUMENT, std::string(what) + " " + std::to_string(i) + ": rank " +
                                                    std::to_string(tensor->rank) + ", expected at most " +
                                                    std::to_string(ETB_MAX_RANK));
  }
  return {};
}

template <class P>
etb_status context_reserve(etb_context* context, const etb_tensor* inputs, uint32_t input_count,
                           etb_error* error) {
  return guard(error, [&]() -> Status {
    auto& object = *reinterpret_cast<ContextObject<P>*>(context);
    ETB_TRY(accept_tensors(inputs, input_count, object.delegate.info.input_count, "input"));
    std::vector<Tensor> views;
    for (uint32_t i = 0; i < input_count; ++i) views.emplace_back(*ETB_AT(etb_tensor, inputs, i));
    return object.impl.reserve(views);
  });
}

template <class P>
etb_status execute(etb_context* context, const etb_exec_args* args, etb_error* error) {
  return guard(error, [&]() -> Status {
    auto& object = *reinterpret_cast<ContextObject<P>*>(context);
    const DelegateInfo& info = object.delegate.info;
    ETB_TRY(ETB_ACCEPT(etb_exec_args, args, reserved));
    ETB_TRY(accept_tensors(args->inputs, args->input_count, info.input_count, "input"));
    ETB_TRY(accept_tensors(args->outputs, args->output_count, info.output_count, "output"));
    if (args->scratch_nbytes < info.scratch_bytes)
      return make_error(Code::INVALID_ARGUMENT, "scratch of " + std::to_string(args->scratch_nbytes) +
                                                    " bytes, expected " + std::to_string(info.scratch_bytes));
    if (args->wait_count != 0)
      return make_error(Code::NOT_SUPPORTED,
                        "fences to wait for, expected none: execute is synchronous here");
    ETB_ASSIGN(const Options options,
               Options::make(args->options, args->option_count, option_rows<P>(), ETB_OBJECT_RUN));
    return object.impl.execute(Run(*args, options, object.delegate.plugin.host));
  });
}

template <class P>
etb_status cancel(etb_context* context, etb_error* error) {
  return guard(error, [&] { return reinterpret_cast<ContextObject<P>*>(context)->impl.cancel(); });
}

// ---- ahead-of-time table

template <class P>
etb_status op_table(etb_plugin*, const etb_op_sink* sink, etb_error* error) {
  return guard(error, [&] { return put_op_rows(P::kOps, sink); });
}

template <class P>
etb_status preserve_ops(etb_plugin*, const etb_text_sink* sink, etb_error* error) {
  return guard(error, [&] { return put_texts(P::kPreserveOps, sink); });
}

template <class P>
etb_status partition(etb_plugin* plugin, const etb_partition_args* args, const etb_partition_sink* sink,
                     etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_TRY(ETB_ACCEPT(etb_partition_args, args, option_count));
    ETB_TRY(Options::make(args->options, args->option_count, option_rows<P>(), ETB_OBJECT_PLUGIN));
    return partition_graph(reinterpret_cast<PluginObject<P>*>(plugin)->impl, args->graph, sink);
  });
}

template <class P>
etb_status compile(etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
  return guard(error, [&] {
    return compile_regions(reinterpret_cast<PluginObject<P>*>(plugin)->impl, args, option_rows<P>());
  });
}

// ---- the tables themselves

template <class P>
inline constexpr etb_device_table kDeviceTable = {
    ETB_INIT_SIZE(etb_device_table), 0, enumerate<P>, device_open<P>, device_close<P>, device_query<P>};

template <class P>
constexpr etb_delegate_table make_delegate_table() {
  using Context = typename ContextOf<typename P::Delegate>::Type;
  etb_delegate_table table{};
  table.struct_size = ETB_INIT_SIZE(etb_delegate_table);
  table.check_payload = check_payload<P>;
  table.create = delegate_create<P>;
  table.destroy = delegate_destroy<P>;
  table.query = delegate_query<P>;
  table.query_io = delegate_query_io<P>;
  table.context_create = context_create<P>;
  table.context_destroy = context_destroy<P>;
  table.execute = execute<P>;
  if constexpr (requires(Context c, std::span<const Tensor> inputs) { c.reserve(inputs); }) {
    table.caps |= ETB_DELEGATE_CAP_CONTEXT_RESERVE;
    table.context_reserve = context_reserve<P>;
  }
  if constexpr (requires(Context c) { c.cancel(); }) {
    table.caps |= ETB_DELEGATE_CAP_CANCEL;
    table.cancel = cancel<P>;
  }
  return table;
}
template <class P>
inline constexpr etb_delegate_table kDelegateTable = make_delegate_table<P>();

template <class P>
constexpr etb_aot_table make_aot_table() {
  etb_aot_table table{};
  table.struct_size = ETB_INIT_SIZE(etb_aot_table);
  if constexpr (kHasAot<P>) {
    table.op_table = op_table<P>;
    table.partition = partition<P>;
    table.compile = compile<P>;
    if constexpr (requires { P::kPreserveOps; }) {
      table.caps |= ETB_AOT_CAP_PRESERVE_OPS;
      table.preserve_ops = preserve_ops<P>;
    }
  }
  return table;
}
template <class P>
inline constexpr etb_aot_table kAotTable = make_aot_table<P>();

}  // namespace detail

// The table that ETB_DEFINE_PLUGIN publishes. A plugin that needs more than the base wraps copies this table, sets the functions
// and their capability bits, and writes etb_plugin_query itself.
template <class P>
constexpr etb_plugin_table plugin_table(const etb_plugin_ident* ident, uint32_t abi_version) {
  etb_plugin_table table{};
  table.struct_size = ETB_INIT_SIZE(etb_plugin_table);
  table.abi_version = abi_version;
  table.ident = ident;
  table.init = detail::init<P>;
  table.deinit = detail::deinit<P>;
  if constexpr (requires(const P p, uint32_t kind, std::string_view id) { p.get_extension(kind, id); }) {
    table.caps |= ETB_PLUGIN_CAP_GET_EXTENSION;
    table.get_extension = detail::get_extension<P>;
  }
  if constexpr (!detail::option_rows<P>().empty()) {
    table.caps |= ETB_PLUGIN_CAP_OPTION_SCHEMA;
    table.option_schema = detail::option_schema<P>;
  }
  table.device = &detail::kDeviceTable<P>;
  table.delegate = &detail::kDelegateTable<P>;
  if constexpr (detail::kHasAot<P>) table.aot = &detail::kAotTable<P>;
  return table;
}

// The newest version that both sides speak, 0 when there is none (rule ABI-VER-02).
constexpr uint32_t choose_abi_version(uint32_t host_min, uint32_t host_max) {
  constexpr uint32_t kOldest = ETB_ABI_MAKE(ETB_ABI_MAJOR, 0);
  const uint32_t newest = host_max < ETB_ABI_VERSION ? host_max : ETB_ABI_VERSION;
  return newest >= kOldest && newest >= host_min ? newest : 0;
}

}  // namespace etb

// Defines the plugin of this library; once, at namespace scope, in one source file. `type` is the class described on top. The query
// function has one table a minor version.
#define ETB_DEFINE_PLUGIN(type, id, vendor, version)                                                       \
  namespace {                                                                                              \
  ETB_DEFINE_PLUGIN_NOTE(etb_plugin_note_of_this_library, id, vendor, version, "",                         \
                         ::etb::detail::profiles<type>(), ::etb::detail::plugin_flags<type>());            \
  template <uint32_t... minor>                                                                             \
  constexpr auto etb_tables_of_this_library(std::integer_sequence<uint32_t, minor...>) {                   \
    return std::array<etb_plugin_table, sizeof...(minor)>{::etb::plugin_table<type>(                       \
        &etb_plugin_note_of_this_library.ident, ETB_ABI_MAKE(ETB_ABI_MAJOR, minor))...};                   \
  }                                                                                                        \
  }                                                                                                        \
  const etb_plugin_table* ETB_CALL ETB_PLUGIN_QUERY(const etb_host*, uint32_t abi_min, uint32_t abi_max) { \
    static constexpr auto kTables =                                                                        \
        etb_tables_of_this_library(std::make_integer_sequence<uint32_t, ETB_ABI_MINOR + 1>());             \
    const uint32_t chosen = ::etb::choose_abi_version(abi_min, abi_max);                                   \
    return chosen != 0 ? &kTables[ETB_ABI_MINOR_OF(chosen)] : nullptr;                                     \
  }
