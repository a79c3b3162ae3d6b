// SPDX-License-Identifier: Apache-2.0
/* Runs method `forward` of x + y on two matrices [2, 3].      usage: run_program_c MODEL.pte */
#include <stdio.h>

#include "etb/module.h"

int main(int argc, char** argv) {
  etb_error error = ETB_ERROR_INIT;
  etb_module* module = NULL;
  int64_t sizes[] = {2, 3};
  float x[] = {1, 2, 3, 4, 5, 6}, y[] = {10, 20, 30, 40, 50, 60};
  etb_value inputs[] = {etb_value_tensor(ETB_DTYPE_FLOAT32, 2, sizes, x, sizeof x),
                        etb_value_tensor(ETB_DTYPE_FLOAT32, 2, sizes, y, sizeof y)};
  etb_value output = ETB_VALUE_INIT;
  etb_status status = etb_module_open(argc == 2 ? argv[1] : "model.pte", NULL, &module, &error);
  for (uint32_t i = 0; i < 2 && status == ETB_OK; ++i)
    status = etb_module_set_input(module, "forward", i, &inputs[i], &error);
  if (status == ETB_OK) status = etb_module_execute(module, "forward", NULL, &error);
  if (status == ETB_OK) status = etb_module_get_output(module, "forward", 0, &output, &error);
  if (status == ETB_OK)
    printf("output 0 ends with %g\n", ((float*)output.tensor.data)[5]);
  else
    fprintf(stderr, "%s\n", error.text);
  etb_module_close(module);
  return status == ETB_OK ? 0 : 1;
}
