// SPDX-License-Identifier: Apache-2.0
// Runs x + y on the one plugin that is linked into this program.      usage: one_static_plugin MODEL.pte
#include <stdio.h>

#include "etb/etbackend.h"
#include "etb_static_plugins.h"

int main(int argc, char** argv) {
  etb_error error = ETB_ERROR_INIT;
  etb_registry_options options = ETB_REGISTRY_OPTIONS_INIT;
  options.flags = ETB_REGISTRY_ONLY_PATHS;
  options.static_plugins = etb_static_plugins;
  options.static_plugin_count = sizeof etb_static_plugins / sizeof *etb_static_plugins;
  etb_registry* registry = NULL;
  etb_module_options module_options = ETB_MODULE_OPTIONS_INIT;
  etb_module* module = NULL;
  etb_decision decision = ETB_DECISION_INIT;
  int64_t sizes[] = {2, 3};
  float x[] = {1, 2, 3, 4, 5, 6}, y[] = {10, 20, 30, 40, 50, 60};
  etb_value inputs[] = {etb_value_tensor(ETB_DTYPE_FLOAT32, 2, sizes, x, sizeof x),
                        etb_value_tensor(ETB_DTYPE_FLOAT32, 2, sizes, y, sizeof y)};
  etb_value output = ETB_VALUE_INIT;
  if (etb_registry_open(&options, &registry, &error) == ETB_OK) {
    module_options.registry = registry;
    if (etb_module_open(argc == 2 ? argv[1] : "model.pte", &module_options, &module, &error) == ETB_OK &&
        etb_module_call(module, NULL, inputs, 2, NULL, &output, 1, &error) == ETB_OK) {
      for (uint32_t i = 0; etb_module_decision(module, i, &decision, NULL) == ETB_OK; ++i)
        printf("%s runs on %s\n", decision.backend_id, decision.plugin_id);
      printf("output 0 ends with %g\n", ((const float*)output.tensor.data)[5]);
    }
  }
  if (error.code != ETB_OK) fprintf(stderr, "%s\n", error.text);
  etb_module_close(module);
  etb_registry_close(registry);
  return error.code != ETB_OK;
}
