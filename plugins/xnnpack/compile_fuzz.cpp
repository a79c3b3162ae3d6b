// Any graph that the verifier lets through, written as text: partitioning answers for each node, and compiling it refuses with a reason or makes a payload
// that our own run side takes.
#include <cstdio>
#include <string_view>
#include <vector>

#include "api/format/graph_text.hpp"
#include "api/format/graph_verifier.hpp"
#include "etb/static_plugins.h"

extern "C" {
ETB_DECLARE_STATIC_PLUGIN(xnnpack);
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
}

namespace {

const void* ETB_CALL no_service(const etb_host*, const char*) { return nullptr; }
constexpr etb_host kBareHost = {
    ETB_INIT_SIZE(etb_host), 0, ETB_ABI_VERSION, 0, "fuzz", "0", "", nullptr, no_service, nullptr};

struct Plugin {
  const etb_plugin_table* table = etb_plugin_query_xnnpack(&kBareHost, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
  etb_plugin* plugin = nullptr;
  Plugin() {
    etb_error error = ETB_ERROR_INIT;
    if (table->init(&kBareHost, nullptr, 0, &plugin, &error) != ETB_OK) __builtin_trap();
  }
};

void partition(const Plugin& plugin, const etb_graph_image& image) {
  etb_error error = ETB_ERROR_INIT;
  etb_partition_args args{};
  args.struct_size = ETB_INIT_SIZE(etb_partition_args);
  args.graph = &image;
  args.backend_id = "XnnpackBackend";
  const etb_partition_sink sink = {ETB_INIT_SIZE(etb_partition_sink), 0, nullptr,
                                   [](void*, const etb_claim*) -> etb_status { return ETB_OK; },
                                   [](void*, const etb_reject* reject) -> etb_status {
                                     if (reject->reason[0] == '\0') __builtin_trap();
                                     return ETB_OK;
                                   }};
  (void)plugin.table->aot->partition(plugin.plugin, &args, &sink, &error);
}

void compile(const Plugin& plugin, const etb_graph_image& image) {
  etb_error error = ETB_ERROR_INIT;
  etb_blob_writer writer = {ETB_INIT_SIZE(etb_blob_writer), 0, nullptr,
                            [](void*, uint64_t, const void*, uint64_t) -> etb_status { return ETB_OK; }};
  const etb_artifact_sink sink = {ETB_INIT_SIZE(etb_artifact_sink),
                                  0,
                                  &writer,
                                  [](void* ctx, uint32_t, const etb_blob_writer** out) -> etb_status {
                                    *out = static_cast<const etb_blob_writer*>(ctx);
                                    return ETB_OK;
                                  },
                                  [](void*, const etb_named_blob*) -> etb_status { return ETB_OK; },
                                  [](void*, const etb_artifact*) -> etb_status { return ETB_OK; }};
  etb_compile_args args{};
  args.struct_size = ETB_INIT_SIZE(etb_compile_args);
  args.backend_id = "XnnpackBackend";
  args.graphs = &image;
  args.graph_count = 1;
  args.sink = &sink;
  if (plugin.table->aot->compile(plugin.plugin, &args, &error) != ETB_OK && error.text[0] == '\0')
    __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Plugin kPlugin;
  const auto parsed = etb::graph::parse_graph_text({reinterpret_cast<const char*>(data), size});
  if (!parsed || !etb::graph::verify_graph_image(parsed->span())) return 0;
  const etb_graph_image image = parsed->to_c();
  partition(kPlugin, image);
  compile(kPlugin, image);
  return 0;
}
