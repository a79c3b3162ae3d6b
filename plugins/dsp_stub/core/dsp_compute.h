// SPDX-License-Identifier: Apache-2.0
// The compute engine: one function for each compute command. Words are verified. All operands are in the TCM.
#ifndef ETB_DSP_COMPUTE_H_
#define ETB_DSP_COMPUTE_H_

#include "plugins/dsp_stub/core/dsp_core.h"

#ifdef __cplusplus
extern "C" {
#endif

void dsp_conv(const uint32_t* words, uint8_t* tcm);
void dsp_pool(const uint32_t* words, uint8_t* tcm);
void dsp_binary(const uint32_t* words, uint8_t* tcm);
void dsp_table(const uint32_t* words, uint8_t* tcm);
void dsp_softmax(const uint32_t* words, uint8_t* tcm);
void dsp_gather(const uint32_t* words, uint8_t* tcm);

#ifdef __cplusplus
}
#endif

#endif
