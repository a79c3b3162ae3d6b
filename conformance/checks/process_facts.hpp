// What a process has now: descriptors, threads, mappings, heap.
#pragma once

#include <cstddef>
#include <string>

namespace etb::conformance {

size_t open_descriptor_count();
size_t thread_count();
size_t mapping_count();
// Bytes that malloc gave out and did not get back.
size_t heap_bytes();
// Largest address space so far.
size_t peak_address_bytes();

}  // namespace etb::conformance
