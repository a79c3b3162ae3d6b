# SPDX-License-Identifier: Apache-2.0
# Prints the bytes of code and constants of each part of the firmware, from the linker's map; of the core also those of the files
# that verify programs, and its constants.
# usage: awk -f text_of_parts.awk portable.map
function hex(text, i, n) {
  n = 0
  for (i = 3; i <= length(text); ++i) n = n * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
  return n
}
# Inline functions of the core are compiled into the first object that uses them, often one of the application.
function part_of(file, section) {
  if (section ~ /_ZNK?3etb(6format|6detail|[0-9]+fail|4host(13BumpAllocator|10MethodMeta|9DataBlock|10DataLoader))/) return "core"
  if (file ~ /libc\.a|libm\.a|libgcc\.a|libstdc\+\+\.a|libnosys|newlib_functions|text_format/) return "C library"
  if (file ~ /dsp_stub_driver|dsp_[a-z]+\.c|driver/) return "plugin"
  if (file ~ /(main|board|classify|model)\./) return "application"
  if (file ~ /(program|program_view|program_verify|program_verify_method|table_verifier|segment_area|data_view|dtype|tensor|stop_check|kernel_context|kernel_registry|platform_hooks|named_data|method|method_load|method_kernels|method_delegates|method_trace|fixed_input|method_counts|operand_overlap|prim_ops)\.cpp/) return "core"
  if (file ~ /static_delegate/) return "delegates"
  return "kernels"
}
function add(file, section, nbytes, part) {
  part = part_of(file, section)
  sizes[part] += nbytes
  if (part == "core" && file ~ /(program_verify|program_verify_method|table_verifier)\.cpp/) verifying += nbytes
  if (part == "core" && section ~ /^\.rodata/) constants += nbytes
}
/^Linker script and memory map/ { inside = 1 }
/^\/DISCARD\/|^\.debug|^\.comment/ { inside = 0 }
inside && /^\.(data|bss|model|note)/ { inside = 0 }
!inside { next }
# A long name of a section stands on a line of its own.
NF == 1 && /^ \.(text|rodata)/ { pending = $1; next }
pending && NF >= 3 { add($3, pending, hex($2)) }
!pending && /^ \.(text|rodata)/ && NF >= 4 { add($4, $1, hex($3)) }
{ pending = "" }
END {
  split("core,delegates,kernels,plugin,application,C library", order, ",")
  line = "code and constants:"
  for (i = 1; i <= 6; ++i) if (sizes[order[i]] > 0) line = line (i > 1 ? "," : "") " " order[i] " " sizes[order[i]] (i == 1 ? " (verifier " verifying ", constants " constants ")" : "")
  print line
}
