// SPDX-License-Identifier: Apache-2.0
// Fuzzes compilation with graphs as text that the verifier accepts. Each rejection must have a reason;
// compiling must succeed or fail with a reason. Other tests check the payload's contents.

#include "api/format/graph_text.hpp"
#include "api/format/graph_verifier.hpp"
#include "plugins/xnnpack/testing/fuzz_plugin.hpp"

namespace {

void partition(const etb::xnnpack::FuzzPlugin& plugin, const etb_graph_image& image) {
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

void compile(const etb::xnnpack::FuzzPlugin& plugin, const etb_graph_image& image) {
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
  static const etb::xnnpack::FuzzPlugin kPlugin;
  const auto parsed = etb::graph::parse_graph_text({reinterpret_cast<const char*>(data), size});
  if (!parsed || !etb::graph::verify_graph_image(parsed->span())) return 0;
  const etb_graph_image image = parsed->to_c();
  partition(kPlugin, image);
  compile(kPlugin, image);
  return 0;
}
