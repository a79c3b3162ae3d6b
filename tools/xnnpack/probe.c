// SPDX-License-Identifier: Apache-2.0
// Compiles, links and runs only with an XNNPACK new enough for the xnnpack plugin. XNNPACK has no version
// number, so this file names the newest functions that the plugin needs.
#include <stdio.h>

#include <pthreadpool.h>
#include <xnnpack.h>

int main(void) {
  // Named, not called: the link fails if the library lacks one.
  volatile void* const needed[] = {
      (void*)xnn_create_runtime_v4,    (void*)xnn_define_blockwise_quantized_tensor_value,
      (void*)xnn_define_unary,         (void*)xnn_define_binary,
      (void*)xnn_create_weights_cache, (void*)xnn_get_external_value_shape,
  };
  const int constants = (int)xnn_datatype_qdint8 + (int)xnn_unary_convert;
  if (needed[0] == NULL || constants < 0 || xnn_initialize(NULL) != xnn_status_success) return 1;
  pthreadpool_t pool = pthreadpool_create(1);
  if (pool == NULL) return 1;
  pthreadpool_destroy(pool);
  return 0;
}
