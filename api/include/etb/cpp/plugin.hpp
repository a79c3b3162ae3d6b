// SPDX-License-Identifier: Apache-2.0
//
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
//     etb::Result<MyDevice> open_device(const etb::DeviceArgs&);                   // optional: the host opens a device; the base keeps
//                                                                                  //   what it returns until close, see etb::device_of
//     etb::Status close_device(MyDevice&);                                         // optional: an error keeps the device open
//     etb::Status set_option(const etb::Options&);                                 // optional, also in MyDevice, MyDelegate, MyContext;
//                                                                                  //   a context gets those of its creation by it, too
//     etb::Status get_option(std::string_view key, etb_option& out) const;         // optional, likewise: `out` has the default
//     const void* get_extension(uint32_t object_kind, std::string_view id) const;  // optional
//     static constexpr etb::OpRow kOps[] = {...};                                  // these three make the ahead-of-time part
//     etb::Claim claim(const etb::Node&) const;                                    //   optional: conditions beyond the rows
//     etb::Result<etb::Artifact> compile(const etb::Region&) const;
//     etb::Status partition(const etb::Graph&, const etb::PartitionSink&) const;   // optional: in place of claim, for patterns
//     etb::Status dry_check(const etb::Graph&, const etb::CompileRequest&) const;  // optional: limits of a whole region
//     etb::Result<etb::Estimate> estimate(const etb::Graph&, const etb::CompileRequest&) const;  // optional
//     static constexpr const char* kPreserveOps[] = {...};                         // optional: ATen ops not to decompose
//     static constexpr const char* kCompileSpecs[] = {...};                        // optional: keys of the specs that compile reads
//     // claim and partition may take a const etb::CompileRequest&, too, after the node or graph: target and options.
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
//     etb::Status start(const etb::AsyncRun&);                                     // optional: execute_async, see run_thread.hpp
//   };
//   ETB_DEFINE_PLUGIN(MyNpu, "com.example.my-npu", "Example Inc.", "0.1.0")
//
// The base keeps these rules for the plugin: CALL-01, CALL-03, SIZE-02 to 04, TYPE-02, OPT-01 and 02,
// LIFE-01, ERR-01 and 02, SINK-02, VER-02, AOT-01, DEV-01, PROF-02. To offer functions that it does not wrap
// (buffers, ...), change the table: see `etb::plugin_table`.
#pragma once

#include <array>
#include <utility>

#include "etb/cpp/compile.hpp"
#include "etb/cpp/delegate_functions.hpp"
#include "etb/cpp/device_functions.hpp"
#include "etb/cpp/plugin_functions.hpp"
#include "etb/cpp/plugin_objects.hpp"
#include "etb/plugin.h"

namespace etb {
namespace detail {

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
    ETB_ASSIGN(const CompileRequest request, CompileRequest::make(*args, option_rows<P>()));
    return partition_graph(reinterpret_cast<PluginObject<P>*>(plugin)->impl, args->graph, request, sink);
  });
}

// Passes the region and the request of `args` to `use`.
template <class P, class Use>
Status use_region(etb_plugin* plugin, const etb_partition_args* args, const Use& use) {
  ETB_TRY(ETB_ACCEPT(etb_partition_args, args, option_count));
  ETB_ASSIGN(const CompileRequest request, CompileRequest::make(*args, option_rows<P>()));
  ETB_ASSIGN(const graph::View view, open_graph(args->graph));
  const P& impl = reinterpret_cast<PluginObject<P>*>(plugin)->impl;
  ETB_TRY(check_claimed(impl, view.method(), request));
  return use(impl, view.method(), request);
}

template <class P>
etb_status dry_check(etb_plugin* plugin, const etb_partition_args* args, etb_error* error) {
  return guard(error, [&] {
    return use_region<P>(plugin, args, [](const P& impl, const Graph& graph, const CompileRequest& request) {
      return impl.dry_check(graph, request);
    });
  });
}

template <class P>
etb_status estimate(etb_plugin* plugin, const etb_partition_args* args, etb_estimate* out, etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_TRY(ETB_ACCEPT(etb_estimate, out, energy_nj));
    return use_region<P>(plugin, args,
                         [&](const P& impl, const Graph& graph, const CompileRequest& request) -> Status {
                           ETB_ASSIGN(const Estimate found, impl.estimate(graph, request));
                           out->latency_ns = found.latency_ns;
                           out->confidence = found.confidence;
                           out->moved_bytes = found.moved_bytes;
                           out->peak_bytes = found.peak_bytes;
                           out->energy_nj = found.energy_nj;
                           return {};
                         });
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
  if constexpr (requires(Context c, const AsyncRun& run) { c.start(run); }) {
    table.caps |= ETB_DELEGATE_CAP_EXECUTE_ASYNC;
    table.execute_async = execute_async<P>;
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
    if constexpr (ChecksRegions<P>) {
      table.caps |= ETB_AOT_CAP_DRY_CHECK;
      table.dry_check = dry_check<P>;
    }
    if constexpr (EstimatesRegions<P>) {
      table.caps |= ETB_AOT_CAP_ESTIMATE;
      table.estimate = estimate<P>;
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
  if constexpr (detail::sets_any_options<P>()) {
    table.caps |= ETB_PLUGIN_CAP_SET_OPTION;
    table.set_option = detail::set_option<P>;
  }
  if constexpr (detail::gives_any_options<P>()) {
    table.caps |= ETB_PLUGIN_CAP_GET_OPTION;
    table.get_option = detail::get_option<P>;
  }
  table.device = &detail::kDeviceTable<P>;
  table.delegate = &detail::kDelegateTable<P>;
  if constexpr (detail::kHasAot<P>) table.aot = &detail::kAotTable<P>;
  return table;
}

// Returns the newest version that both sides speak, 0 when there is none (ABI-VER-02).
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
