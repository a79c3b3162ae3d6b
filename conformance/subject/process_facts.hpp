// SPDX-License-Identifier: Apache-2.0
// Current resources of a process: descriptors, threads, mappings, heap, children, temporary files.
#pragma once

#include <cstddef>
#include <string>

namespace etb::conformance {

size_t open_descriptor_count();
size_t thread_count();
size_t mapping_count();
// Bytes of all mappings but those of the C library's heap.
size_t mapping_bytes();
// Bytes that mlock() keeps in memory.
size_t locked_bytes();
// Children of this process, zombies included.
size_t child_count();
// Files and folders below TMPDIR.
size_t temporary_file_count();
// Bytes that malloc allocated and that are not freed. Freed small blocks that malloc keeps for a thread count, too.
size_t heap_bytes();
// Takes the freed small blocks that malloc keeps for this thread. A small block that is allocated afterwards raises
// heap_bytes() at once; before, malloc may take seven from its store, and then refill the store in one step. The
// blocks stay allocated.
void take_freed_blocks();
// Bytes that the process holds for itself: allocated with malloc, and written pages of other private mappings. Freed
// memory that the C library keeps does not count.
size_t held_bytes();
// Largest address space so far.
size_t peak_address_bytes();

}  // namespace etb::conformance
