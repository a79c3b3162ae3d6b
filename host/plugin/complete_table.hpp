// A plugin's tables made complete: what a plugin gave, checked and copied into the sizes that this host knows, with a
// stub in the place of every optional function that is not there. Callers, layers included, never test for NULL.
#pragma once

#include "etb/cpp/result.hpp"
#include "etb/plugin.h"

namespace etb::host {

// Owns the copies; `table()` points into this object, so it stays where it was made.
class CompleteTable {
 public:
  // Refuses (Code::INCOMPATIBLE, naming the field) a table that is smaller than version 1.0 made it, that carries an
  // unknown flag, that lacks a required function or a table its profile promises, or whose capability bit stands for a
  // NULL (ABI-SIZE-02, ABI-TYPE-02, ABI-CALL-01, ABI-CALL-02). A larger table's tail and unknown capability bits are
  // those of a newer minor version and are left out. `raw` may die afterwards; its ident may not.
  [[nodiscard]] Status assign(const etb_plugin_table& raw);

  // The table of a layer in front of `next` (ABI-LAYER-02). `next` is complete and outlives this.
  [[nodiscard]] Status assign_layer(const etb_plugin_table& layer, const etb_plugin_table& next);

  CompleteTable() = default;
  CompleteTable(const CompleteTable&) = delete;
  CompleteTable& operator=(const CompleteTable&) = delete;

  const etb_plugin_table& table() const noexcept { return plugin_; }

 private:
  Status copy(const etb_plugin_table& raw);
  void fill_holes(const etb_plugin_table& next);
  void drop_what_next_lacks(const etb_plugin_table& next);
  Status require_all() const;
  void install_stubs();
  bool is_ours(const void* table) const noexcept;

  etb_plugin_table plugin_{};
  etb_device_table device_{};
  etb_delegate_table delegate_{};
  etb_aot_table aot_{};
};

}  // namespace etb::host
