// SPDX-License-Identifier: Apache-2.0
// NamedDataMap: finds bytes by name for a method and its delegates, in the program and in external data
// files.
#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <string_view>

#include "api/format/data_view.hpp"
#include "host/runtime/data_loader.hpp"

namespace etb::host {

class Program;

// A data file (.ptd) and the loader that reads it. Load it once; methods and threads may share it.
class DataFile {
 public:
  // The loader outlives this.
  [[nodiscard]] etb_status load(DataLoader& loader, etb_error* error) noexcept;
  const format::DataView& view() const noexcept { return view_; }

 private:
  friend class NamedDataMap;
  // The code of NamedDataMap that only data files need. load() names it, so the linker leaves it out of a program that
  // loads none.
  struct Functions {
    // Returns the index of a key, or kNowhere, and adds the number of compared keys.
    uint32_t (*find)(const DataFile& file, std::string_view key, uint64_t& comparison_count) noexcept;
    etb_status (*load)(const DataFile& file, uint32_t index, DataBlock* out,
                       std::optional<format::LayoutRecord>* out_layout, etb_error* error) noexcept;
  };
  static constexpr uint32_t kNowhere = ~uint32_t{0};
  static uint32_t find(const DataFile& file, std::string_view key, uint64_t& comparison_count) noexcept;
  static etb_status load_record(const DataFile& file, uint32_t index, DataBlock* out,
                                std::optional<format::LayoutRecord>* out_layout, etb_error* error) noexcept;

  const Functions* functions_ = nullptr;
  DataLoader* loader_ = nullptr;
  DataBlock flatbuffer_;
  format::DataView view_;
};

// Bytes by name that another runtime stores. Several threads may call it at the same time.
class NamedDataSource {
 public:
  virtual etb_status find(std::string_view key, DataBlock* out, etb_error* error) const noexcept = 0;

 protected:
  NamedDataSource() noexcept = default;
  NamedDataSource(const NamedDataSource&) = default;
  NamedDataSource& operator=(const NamedDataSource&) = default;
  ~NamedDataSource() = default;
};

// Borrows the program and the files, or the source.
class NamedDataMap {
 public:
  NamedDataMap() noexcept = default;
  explicit NamedDataMap(const NamedDataSource& source) noexcept : source_(&source) {}
  NamedDataMap(const Program* program, std::span<const DataFile* const> files) noexcept
      : program_(program), files_(files) {}

  // Keys that one map compares in its life. Tables are searched from end to end, so a hostile program could make a load take
  // minutes; 8,000 tensors in a data file of 8,000 keys stay below.
  static constexpr uint64_t kMaxComparisons = 1 << 26;

  // ETB_NOT_FOUND when no source has the key, ETB_ALREADY_EXISTS when two have it, ETB_OUT_OF_RESOURCES beyond kMaxComparisons.
  // `out_layout` (may be null) is filled for tensors of data files.
  [[nodiscard]] etb_status find(std::string_view key, DataBlock* out,
                                std::optional<format::LayoutRecord>* out_layout,
                                etb_error* error) const noexcept;

  // Counts the comparisons of `copy`, a copy of this map, as those of this map. Both are used by one thread meanwhile.
  void count_comparisons_of(const NamedDataMap& copy) const noexcept {
    const std::atomic_ref<uint64_t> own(comparison_count_), other(copy.comparison_count_);
    own.store(other.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }

 private:
  const NamedDataSource* source_ = nullptr;  // if set, the only place
  const Program* program_ = nullptr;
  std::span<const DataFile* const> files_;
  mutable uint32_t next_ =
      0;  // where the program's next key may be: they are asked for in order. By atomic_ref.
  mutable uint64_t comparison_count_ = 0;  // by atomic_ref
};

}  // namespace etb::host
