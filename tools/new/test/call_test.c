// SPDX-License-Identifier: Apache-2.0
/* Loads the plugin as a host does and runs one sum. usage: call_test my_npu.so */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <etb/all.h>

static const void* ETB_CALL no_service(const etb_host* host, const char* id) {
  (void)host, (void)id;
  return NULL;
}

/* The payload that compile would write for one sum of two inputs. */
static const uint32_t payload[] = {0x504e594d, 1, 2, 0, 1};

static etb_tensor tensor_of(int64_t* sizes, float* data, uint32_t role) {
  etb_tensor tensor;
  memset(&tensor, 0, sizeof(tensor));
  tensor.struct_size = ETB_INIT_SIZE(etb_tensor);
  tensor.dtype = ETB_DTYPE_FLOAT32;
  tensor.rank = 1;
  tensor.role = role;
  tensor.sizes = sizes;
  tensor.data = data;
  tensor.capacity_bytes = (uint64_t)sizes[0] * sizeof(float);
  return tensor;
}

static etb_status run(etb_context* context, const etb_delegate_table* table, etb_error* error) {
  int64_t sizes[] = {3};
  float left[] = {1, 2, 3}, right[] = {10, 20, 30}, sum[] = {0, 0, 0};
  etb_tensor inputs[2], output;
  etb_exec_args args;
  etb_status status;
  inputs[0] = tensor_of(sizes, left, ETB_ROLE_INPUT);
  inputs[1] = tensor_of(sizes, right, ETB_ROLE_INPUT);
  output = tensor_of(sizes, sum, ETB_ROLE_OUTPUT);
  memset(&args, 0, sizeof(args));
  args.struct_size = ETB_INIT_SIZE(etb_exec_args);
  args.inputs = inputs;
  args.input_count = 2;
  args.outputs = &output;
  args.output_count = 1;
  status = table->execute(context, &args, error);
  printf("%g %g %g\n", sum[0], sum[1], sum[2]);
  return status != ETB_OK ? status : sum[0] == 11 && sum[1] == 22 && sum[2] == 33 ? ETB_OK : ETB_INTERNAL;
}

static etb_status make_and_run(const etb_plugin_table* table, etb_plugin* plugin, etb_error* error) {
  etb_payload_view view;
  etb_delegate_args args;
  etb_delegate* delegate = NULL;
  etb_context* context = NULL;
  etb_status status;
  memset(&view, 0, sizeof(view));
  view.struct_size = ETB_INIT_SIZE(etb_payload_view);
  view.data = payload;
  view.nbytes = sizeof(payload);
  view.alignment = 16;
  view.fd = -1;
  memset(&args, 0, sizeof(args));
  args.struct_size = ETB_INIT_SIZE(etb_delegate_args);
  args.backend_id = "MyNpuBackend";
  args.method_name = "forward";
  args.payload = &view;
  status = table->delegate->create(plugin, &args, &delegate, error);
  if (status != ETB_OK) return status;
  status = table->delegate->context_create(delegate, NULL, 0, &context, error);
  if (status == ETB_OK) {
    status = run(context, table->delegate, error);
    table->delegate->context_destroy(context, error);
  }
  table->delegate->destroy(delegate, error);
  return status;
}

int main(int argc, char** argv) {
  etb_host host;
  etb_error error = ETB_ERROR_INIT;
  etb_plugin* plugin = NULL;
  const etb_plugin_table* table;
  etb_plugin_query_fn query;
  etb_status status;
  void* library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (library == NULL) {
    fprintf(stderr, "usage: call_test my_npu.so: %s\n", argc == 2 ? dlerror() : "one argument, please");
    return 2;
  }
  memset(&host, 0, sizeof(host));
  host.struct_size = ETB_INIT_SIZE(etb_host);
  host.abi_version = ETB_ABI_VERSION;
  host.name = host.version = "call_test";
  host.plugin_dir = "";
  host.get_service = no_service;
  *(void**)&query = dlsym(library, ETB_PLUGIN_QUERY_SYMBOL);
  table = query != NULL ? query(&host, ETB_ABI_MAKE(ETB_ABI_MAJOR, 0), ETB_ABI_VERSION) : NULL;
  if (table == NULL) {
    fprintf(stderr, "%s: no table for ABI %d.%d\n", argv[1], ETB_ABI_MAJOR, ETB_ABI_MINOR);
    return 1;
  }
  status = table->init(&host, NULL, 0, &plugin, &error);
  if (status == ETB_OK) {
    status = make_and_run(table, plugin, &error);
    table->deinit(plugin, &error);
  }
  if (status != ETB_OK) fprintf(stderr, "status %d: %s\n", status, error.text);
  return status != ETB_OK;
}
