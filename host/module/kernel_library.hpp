// SPDX-License-Identifier: Apache-2.0
// KernelLibrary: kernels of an application's own operators, from a shared library loaded at run time.
//
// The library is C++ and built against the same headers as the host. This is not a C ABI; plugins have one:
//
//   #include "host/module/kernel_library.hpp"
//   static etb_status scale(etb::host::KernelContext& context, etb::host::EValue** args) { ... }
//   static constexpr etb::host::Kernel rows[] = {etb::host::Kernel("my::scale.out", "TST!", &scale)};  // it writes argument 2
//   ETB_EXPORT_KERNELS(rows)
//
// Link it with etbackend::kernel_library, in this tree etb::kernel_library.
#pragma once

#include <iterator>
#include <memory>
#include <string>

#include "etb/base.h"
#include "etb/cpp/result.hpp"
#include "host/runtime/kernel_registry.hpp"

namespace etb::host {

// Rejects a library that was built against other headers: the sizes of the shared types, and a version in the
// highest byte for changes that keep the sizes (2: signatures mark the arguments that kernels write).
inline constexpr uint64_t kKernelLayout = uint64_t{2} << 56 | sizeof(Kernel) << 48 | sizeof(Tensor) << 32 |
                                          sizeof(EValue) << 16 | sizeof(KernelContext);

struct KernelLibraryTable {
  uint64_t layout;  // kKernelLayout
  const Kernel* rows;
  uint64_t row_count;
};

#define ETB_EXPORT_KERNELS(rows)                                                                           \
  extern "C" ETB_EXPORT const etb::host::KernelLibraryTable* etb_kernel_library() {                        \
    static constexpr etb::host::KernelLibraryTable table{etb::host::kKernelLayout, rows, std::size(rows)}; \
    return &table;                                                                                         \
  }

// An open library. Its rows are valid during its lifetime.
class KernelLibrary {
 public:
  // Loads the library and runs its code, by the rules for plugins (docs/registry.md): owner and mode of file
  // and folders, needed libraries, digest. `text` is PATH or PATH@sha256:HEX. PATH must contain a slash,
  // because no search path is used. `secure` requires a file of root and a digest. A process with more rights
  // than its caller is always secure.
  [[nodiscard]] static Result<std::shared_ptr<const KernelLibrary>> open(const std::string& text,
                                                                         bool secure = false);
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;
  ~KernelLibrary();

  const KernelRows& rows() const noexcept { return rows_; }

 private:
  struct Mapped;
  explicit KernelLibrary(std::unique_ptr<Mapped> mapped) noexcept;
  std::unique_ptr<Mapped> mapped_;
  KernelRows rows_;
};

}  // namespace etb::host
