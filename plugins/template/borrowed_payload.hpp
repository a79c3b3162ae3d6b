// SPDX-License-Identifier: Apache-2.0
// For tests of a plugin's tables: payloads and tensors that record the plugin's use of them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "etb/plugin.h"

// A payload in aligned memory that counts its releases.
struct BorrowedPayload {
  explicit BorrowedPayload(std::vector<uint32_t> words_in) : words(std::move(words_in)) {
    view.struct_size = ETB_INIT_SIZE(etb_payload_view);
    view.data = words.data();
    view.nbytes = words.size() * sizeof(uint32_t);
    view.alignment = 16;
    view.fd = -1;
    view.release_ctx = this;
    view.release = [](void* ctx) { ++static_cast<BorrowedPayload*>(ctx)->release_count; };
  }
  std::vector<uint32_t> words;
  etb_payload_view view{};
  int release_count = 0;
};

// A float tensor with guard elements after its capacity.
struct TestTensor {
  TestTensor(std::vector<int64_t> sizes_in, std::vector<float> data_in)
      : sizes(std::move(sizes_in)), data(std::move(data_in)) {
    data.push_back(12345.0f);
  }
  etb_tensor view(uint32_t role) {
    etb_tensor tensor{};
    tensor.struct_size = ETB_INIT_SIZE(etb_tensor);
    tensor.dtype = ETB_DTYPE_FLOAT32;
    tensor.rank = static_cast<uint32_t>(sizes.size());
    tensor.role = role;
    tensor.sizes = sizes.data();
    tensor.strides = strides.empty() ? nullptr : strides.data();
    tensor.upper_sizes = upper.empty() ? nullptr : upper.data();
    tensor.data = data.data();
    tensor.capacity_bytes = (data.size() - 1) * sizeof(float);
    return tensor;
  }
  std::vector<int64_t> sizes, strides, upper;
  std::vector<float> data;
};
