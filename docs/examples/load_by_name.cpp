// SPDX-License-Identifier: Apache-2.0
// Finds a plugin by name, loads it, and runs one call through it.
//
// usage: load_by_name NAME [FOLDER ...]      NAME is a plugin id, a delegate id of a .pte file, or an alias: my_npu
#include <cstdio>

#include "host/plugin/delegate.hpp"
#include "host/registry/registry.hpp"

namespace {

// The template plugin's payload for a + b; a program reads such bytes from a .pte file.
alignas(16) constexpr uint32_t kPayload[] = {0x504e594d, 1, 2, 0, 1};

etb_tensor tensor_of(int64_t* sizes, float* data) {
  etb_tensor tensor{};
  tensor.struct_size = ETB_INIT_SIZE(etb_tensor);
  tensor.dtype = ETB_DTYPE_FLOAT32;
  tensor.rank = 1;
  tensor.sizes = sizes;
  tensor.data = data;
  tensor.capacity_bytes = static_cast<uint64_t>(*sizes) * sizeof(float);
  return tensor;
}

etb::Status run(const char* name, std::vector<std::string> folders) {
  etb::host::RegistryOptions options;
  options.application_paths = std::move(folders);
  etb::host::Registry registry(options);
  for (const auto& found : registry.plugins())
    std::printf("found   %s %s\n", found.id.c_str(), found.version().c_str());

  ETB_ASSIGN(const auto selection, registry.open(name, {}));
  std::printf("loaded  %s\n", selection.plugin->table().ident->id);

  etb_payload_view payload{};
  payload.struct_size = ETB_INIT_SIZE(etb_payload_view);
  payload.data = kPayload;
  payload.nbytes = sizeof(kPayload);
  payload.alignment = 16;
  payload.fd = -1;
  etb_delegate_args args{};
  args.struct_size = ETB_INIT_SIZE(etb_delegate_args);
  args.backend_id = name;
  args.method_name = "forward";
  args.payload = &payload;
  ETB_ASSIGN(const auto delegate, selection.plugin->create_delegate(args));
  ETB_ASSIGN(auto context, delegate.create_context());

  int64_t sizes[] = {3};
  float left[] = {1, 2, 3}, right[] = {10, 20, 30}, sum[] = {0, 0, 0};
  const etb_tensor inputs[] = {tensor_of(sizes, left), tensor_of(sizes, right)};
  etb_tensor output = tensor_of(sizes, sum);
  etb_exec_args call{};
  call.struct_size = ETB_INIT_SIZE(etb_exec_args);
  call.inputs = inputs;
  call.input_count = 2;
  call.outputs = &output;
  call.output_count = 1;
  ETB_TRY(context.execute(call));
  std::printf("ran     [1, 2, 3] + [10, 20, 30] = [%g, %g, %g]\n", sum[0], sum[1], sum[2]);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: load_by_name NAME [FOLDER ...]\n", stderr);
    return 2;
  }
  const etb::Status status = run(argv[1], {argv + 2, argv + argc});
  if (!status) std::fprintf(stderr, "load_by_name: %s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
