// Kernels of an application's own operators, from a shared library loaded at run time.
//
// The library is C++ against the same headers as the host (this is no C ABI; plugins have one):
//
//   #include "host/module/kernel_library.hpp"
//   static etb_status scale(etb::host::KernelContext& context, etb::host::EValue** args) { ... }
//   static constexpr etb::host::Kernel rows[] = {etb::host::Kernel("my::scale.out", "TST!", &scale)};  // it writes argument 2
//   ETB_EXPORT_KERNELS(rows)
#pragma once

#include <iterator>
#include <memory>
#include <string>

#include "etb/base.h"
#include "etb/cpp/result.hpp"
#include "host/runtime/kernel_registry.hpp"

namespace etb::host {

// Two sides that see other sizes were built from other headers; so were those with another number in front, which counts what
// changes without changing a size (2: signatures mark what kernels write).
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

// An open library; its rows are valid as long as it lives.
class KernelLibrary {
 public:
  // Runs code of the library, under the rules for plugins (docs/registry.md): owner and mode of file and folders, what it
  // needs, its digest. `text` is PATH or PATH@sha256:HEX. The path holds a slash: no search path is used. `secure` asks for
  // root's files and for a digest; a process with more rights than its caller is secure in any case.
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
