// SPDX-License-Identifier: Apache-2.0
// Current resources of a process: descriptors, threads, mappings, heap.
#pragma once

#include <cstddef>
#include <string>

namespace etb::conformance {

size_t open_descriptor_count();
size_t thread_count();
size_t mapping_count();
// Bytes that malloc allocated and that are not freed.
size_t heap_bytes();
// Largest address space so far.
size_t peak_address_bytes();

}  // namespace etb::conformance
