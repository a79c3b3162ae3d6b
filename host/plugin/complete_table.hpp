// SPDX-License-Identifier: Apache-2.0
// CompleteTable: a plugin's tables, checked and copied into the sizes that this host knows. A stub replaces
// every absent optional function, so that callers, layers included, never test for NULL.
#pragma once

#include "etb/cpp/result.hpp"
#include "etb/plugin.h"

namespace etb::host {

// Owns the copies. `table()` points into this object, so it must not move.
class CompleteTable {
 public:
  // Rejects (Code::INCOMPATIBLE, with the field's name) a table that is smaller than in version 1.0 or has an
  // unknown flag (ABI-SIZE-02, ABI-TYPE-02). Also rejects a missing required function, a missing table of the
  // profile, and a capability bit for a NULL function (ABI-CALL-01, ABI-CALL-02). The tail of a larger table
  // and unknown capability bits belong to a newer minor version and are ignored. `raw` may be destroyed
  // afterwards, its ident may not.
  [[nodiscard]] Status assign(const etb_plugin_table& raw);

  // Completes the table of a layer before `next` (ABI-LAYER-02). `next` is complete and outlives this object.
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
