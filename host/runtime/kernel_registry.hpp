// SPDX-License-Identifier: Apache-2.0
// Kernel and KernelRegistry: which function carries out which op, optionally only for some dtypes and dim
// orders.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "etb/status.h"
#include "host/runtime/evalue.hpp"
#include "host/runtime/kernel_context.hpp"

namespace etb::host {

// Carries out an op. `args` holds every argument of the op's schema in order, outputs included. A call from a
// program has the returned values after them, which a kernel does not need. Tags and data pointers were
// checked against the signature. On error outputs hold unspecified bytes.
using KernelFunction = etb_status (*)(KernelContext& context, EValue** args);

constexpr uint32_t hash_name(std::string_view text, uint32_t hash = 2166136261u) noexcept {
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;  // FNV-1a
  return hash;
}

constexpr bool is_mark(char character) noexcept { return character == '!' || character == '='; }

constexpr uint32_t kManyArguments = 31;

// Number of arguments of a signature. kManyArguments means that many or more.
constexpr uint32_t count_arguments(const char* signature) noexcept {
  uint32_t count = 0;
  for (; *signature != '\0'; ++signature) count += is_mark(*signature) || count == kManyArguments ? 0 : 1;
  return count;
}

// As much of a hash as a row keeps.
constexpr uint32_t short_hash(uint32_t hash) noexcept { return hash & ((uint32_t{1} << 27) - 1); }

// Marks of a signature's first 16 arguments, one bit each; all others count as written. No op has that many.
struct OperandMarks {
  uint16_t written = 0;
  uint16_t may_equal_written = 0;

  constexpr bool is_written(uint32_t argument) const noexcept {
    return argument >= 16 || (written >> argument & 1) != 0;
  }
  constexpr bool may_equal(uint32_t argument) const noexcept {
    return argument < 16 && (may_equal_written >> argument & 1) != 0;
  }
  // As if every argument that is not written had the mark `=`.
  constexpr void allow_equal() noexcept { may_equal_written = static_cast<uint16_t>(~written); }
};

constexpr OperandMarks read_operand_marks(const char* signature) noexcept {
  OperandMarks marks;
  uint32_t tensors = 0, written = 0, may_equal = 0, next = 1;  // next: the bit of the argument to come
  for (const char* letter = signature; *letter != '\0'; ++letter) {
    if (*letter == '!') {
      written |= next >> 1;
    } else if (*letter == '=') {
      may_equal |= next >> 1;
    } else {
      const char kind = *letter;
      if (kind == 'T' || kind == 't' || kind == 'L' || kind == 'M' || kind == 'x') tensors |= next;
      next <<= 1;
    }
  }
  marks.written = static_cast<uint16_t>(written != 0 ? written : tensors);
  marks.may_equal_written = static_cast<uint16_t>(may_equal);
  return marks;
}

// One row of a kernel table.
//
// name       "namespace::op.overload"; without overload "namespace::op"
// signature  one letter an argument; a lower-case relative is the optional one:
//              T tensor (t optional)   S scalar (s optional)   I int list (j optional)   L tensor list
//              i int (n optional)      d double (e optional)   D double list (f optional)  M optional tensor
//              list b bool (c optional)     z string (y optional)   B bool list                x any value
//            An int is also the kind of a dtype, layout or memory format. Ints are accepted where a double
//            is expected.
//            A mark may follow a letter of tensors:
//              !  the kernel writes this argument. It shares no byte with another argument of a call.
//              =  the kernel reads this argument and stays right when it is exactly a written one: each element
//                 is read before the element at its place is written, and never again.
//            In a row without `!` every tensor counts as written.
// key        "" for a kernel that takes anything; else dtypes and dim orders of the tensor arguments as
//            "dtype code;dims|dtype code;dims", e.g. "6;0,1|6;0,1" (the part behind "v1/" in ExecuTorch's
//            kernel key)
struct Kernel {
  constexpr Kernel(const char* op, const char* letters, KernelFunction run,
                   const char* only_for = "") noexcept
      : name(op),
        signature(letters),
        function(run),
        key(only_for),
        name_hash(short_hash(hash_name(op))),
        argument_count(count_arguments(letters) & kManyArguments),
        operands(read_operand_marks(letters)) {}

  const char* name;
  const char* signature;
  KernelFunction function;
  const char* key;
  // One word for both: kernel tables are read whole when a name is looked up.
  uint32_t name_hash : 27;
  uint32_t argument_count : 5;  // kManyArguments: that or more
  OperandMarks operands;
};

using KernelRows = std::span<const Kernel>;

// Checks tags, list items and data pointers of a call against a kernel's signature. `count` may exceed the
// signature by the returned values. Needed before every call, because values change while a program runs.
etb_status check_arguments(KernelContext& context, const Kernel& kernel, EValue* const* args,
                           size_t count) noexcept;

// Checks arguments and runs the kernel; a kernel that was stopped answers the reason.
inline etb_status call_kernel(KernelContext& context, const Kernel& kernel, EValue** args,
                              size_t count) noexcept {
  context.begin_kernel(kernel.name);
  const etb_status status = check_arguments(context, kernel, args, count);
  if (status != ETB_OK) return status;
  const etb_status answer = kernel.function(context, args);
  return context.stop_check().is_stopped() ? context.stopped() : answer;
}

// Kernel tables by name. An ordinary object: several can exist. Tables stay with their owners (static
// arrays, or a shared library that outlives the registry). Filling is not thread-safe, finding is.
class KernelRegistry {
 public:
  static constexpr int kMaxTables = 64;

  // Adds one group of rows, or many (as portable.hpp's table is built). Returns ETB_ALREADY_EXISTS when a
  // name and key is there already (then nothing is added and `out_duplicate`, when given, is that row) and
  // ETB_OUT_OF_RESOURCES beyond kMaxTables.
  etb_status add(KernelRows rows, const Kernel** out_duplicate = nullptr) noexcept {
    return add({rows, {}}, out_duplicate);
  }
  etb_status add(std::span<const KernelRows* const> groups, const Kernel** out_duplicate = nullptr) noexcept {
    return add({{}, groups}, out_duplicate);
  }

  // Adds rows that replace rows of the same name and key which were added before. Returns ETB_ALREADY_EXISTS when
  // two of the new rows are the same (then nothing is added), and ETB_OUT_OF_RESOURCES beyond kMaxTables.
  etb_status add_over(KernelRows rows, const Kernel** out_duplicate = nullptr) noexcept;

  // The kernel for an op: the row whose key matches the tensors in `args` exactly, else the row without key,
  // else null. With no args only the row without key can match.
  const Kernel* find(std::string_view name, std::string_view overload, EValue* const* args = nullptr,
                     size_t count = 0) const noexcept;

  // True if the op has any row; distinguishes a missing op from a missing dtype.
  bool has_op(std::string_view name, std::string_view overload) const noexcept;

  // True if some rows of the op have a key, so that the kernel depends on the arguments.
  bool has_keyed(std::string_view name, std::string_view overload) const noexcept;

  // The hot loops that kernels called through this registry should use; see host/kernels/portable.hpp.
  const VectorTable* vector_table() const noexcept { return vector_table_; }
  void set_vector_table(const VectorTable* table) noexcept { vector_table_ = table; }

  // Calls visit(kernel) for each row in the order of adding.
  template <class Visit>
  void for_each(Visit visit) const {
    for (int i = 0; i < table_count_; ++i) tables_[i].for_each(visit);
  }

 private:
  struct Table {
    KernelRows rows;
    std::span<const KernelRows* const> groups;

    template <class Visit>
    void for_each(Visit& visit) const {
      const KernelRows* const single = &rows;
      for (const KernelRows* group : groups.empty() ? std::span(&single, 1) : groups) {
        for (const Kernel& kernel : *group) visit(kernel);
      }
    }
  };
  etb_status add(Table table, const Kernel** out_duplicate) noexcept;

  Table tables_[kMaxTables];
  int table_count_ = 0;
  bool has_keys_ = false;  // some row has one; stays set when adding it failed
  const VectorTable* vector_table_ = nullptr;
};

// Writes the key of the tensors in `args` ("6;0,1|6;0,1") and returns its length without the terminator; 0
// when it does not fit.
size_t format_kernel_key(EValue* const* args, size_t count, std::span<char> out_text) noexcept;

}  // namespace etb::host
