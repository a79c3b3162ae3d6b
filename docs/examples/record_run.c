// SPDX-License-Identifier: Apache-2.0
/* Records a run of x + y on two matrices [2, 3], with values: the example of docs/profiling.md. usage: record_run MODEL.pte */
#include <stdio.h>

#include "etb/etbackend.h"

int main(int argc, char** argv) {
  const char* const model = argc == 2 ? argv[1] : "model.pte";
  etb_error error = ETB_ERROR_INIT;
  etb_module* module = NULL;
  int64_t sizes[] = {2, 3};
  float x[] = {1, 2, 3, 4, 5, 6}, y[] = {10, 20, 30, 40, 50, 60};
  etb_value inputs[] = {etb_value_tensor(ETB_DTYPE_FLOAT32, 2, sizes, x, sizeof x),
                        etb_value_tensor(ETB_DTYPE_FLOAT32, 2, sizes, y, sizeof y)};
  etb_value output = ETB_VALUE_INIT;

  etb_recording_options wanted = ETB_RECORDING_OPTIONS_INIT;
  wanted.values = ETB_RECORD_ALL_VALUES; /* all times, and the values */
  wanted.debug_path = "run.bin";         /* NULL: in memory */
  etb_recording* recording = NULL;
  etb_module_options options = ETB_MODULE_OPTIONS_INIT;
  etb_status status = etb_recording_open(&wanted, &recording, &error);
  options.recording = recording;
  if (status == ETB_OK) status = etb_module_open(model, &options, &module, &error);
  if (status == ETB_OK) status = etb_module_call(module, NULL, inputs, 2, NULL, &output, 1, &error);
  if (status == ETB_OK) status = etb_recording_write(recording, "run.etdp", &error);
  etb_module_close(module);
  etb_recording_close(recording);

  if (status != ETB_OK) fprintf(stderr, "%s\n", error.text);
  return status;
}
