// SPDX-License-Identifier: Apache-2.0
#include "scale.hpp"

namespace my {

using namespace etb::host;

etb_status scale(KernelContext& context, const Tensor& x, double factor, Tensor& out) {
  if (x.dtype() != Dtype::FLOAT32 || out.dtype() != Dtype::FLOAT32)
    return context.fail(ETB_INVALID_TYPE, "my::scale has float32 only");
  if (const etb_status status = out.resize(x.sizes()); status != ETB_OK)
    return context.fail(status, "out does not fit");
  for (int64_t i = 0; i < x.numel(); ++i)
    out.data_as<float>()[i] = x.data_as<float>()[i] * static_cast<float>(factor);
  return ETB_OK;
}

}  // namespace my
