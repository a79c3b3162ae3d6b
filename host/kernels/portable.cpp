// SPDX-License-Identifier: Apache-2.0
// The generated list of kernel files as one table.
#include "host/kernels/portable.hpp"
#if defined(ETB_SELECTED_KERNELS)
#include "host/kernels/selected_rows.hpp"
#include "host/runtime/selected_dtypes.hpp"
#endif

namespace etb::host {

#define ETB_KERNELS(file) extern const KernelRows kernels_##file;
#include "kernel_table.inc"
#undef ETB_KERNELS

namespace {
#define ETB_KERNELS(file) &kernels_##file,
constexpr const KernelRows* kPortableKernels[] = {
#include "kernel_table.inc"
    nullptr,  // an array of none is not allowed
};
#undef ETB_KERNELS
}  // namespace

#if defined(ETB_SELECTED_KERNELS)
namespace {
etb_status check_dtype(KernelContext& context, size_t index, const EValue& value) noexcept {
  if (!value.is_tensor() || is_selected(value.tensor().dtype())) return ETB_OK;
  return context.fail(
      ETB_NOT_SUPPORTED,
      "argument %zu is %s, which this run time was built without: add it to DTYPES of etb_add_runtime", index,
      to_text(value.tensor().dtype()));
}
}  // namespace

etb_status check_selected_dtypes(KernelContext& context, const char* signature,
                                 std::span<EValue* const> arguments) noexcept {
  size_t index = 0;
  for (const char* letter = signature; *letter != '\0' && index < arguments.size(); ++letter) {
    if (is_mark(*letter)) continue;
    const EValue& value = *arguments[index];
    if (value.tag() == Tag::kTensorList || value.tag() == Tag::kOptionalTensorList) {
      for (const EValue* item : value.values())
        if (item != nullptr)
          if (const etb_status status = check_dtype(context, index, *item); status != ETB_OK) return status;
    } else if (const etb_status status = check_dtype(context, index, value); status != ETB_OK) {
      return status;
    }
    ++index;
  }
  return ETB_OK;
}

etb_status check_selected_call(KernelContext& context, const Kernel& kernel,
                               std::span<EValue* const> arguments) noexcept {
  for (const KernelRows* rows : kPortableKernels)
    if (rows != nullptr && !rows->empty() && &kernel >= rows->data() && &kernel < rows->data() + rows->size())
      return check_selected_dtypes(context, kernel.signature, arguments);
  return ETB_OK;
}
#endif

etb_status add_portable_kernels(KernelRegistry& registry, CpuFeatures features) noexcept {
  const etb_status status =
      registry.add(std::span(kPortableKernels).first<std::size(kPortableKernels) - 1>());
  if (status == ETB_OK) registry.set_vector_table(&select_vector_table(features));
  return status;
}

}  // namespace etb::host
