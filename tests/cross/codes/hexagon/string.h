// SPDX-License-Identifier: Apache-2.0
// In place of the C library's, which Debian has not for Hexagon.
#pragma once

#include <stddef.h>

void* memcpy(void* to, const void* from, size_t nbytes);
void* memset(void* to, int value, size_t nbytes);
int memcmp(const void* a, const void* b, size_t nbytes);
int strncmp(const char* a, const char* b, size_t most);
int strcmp(const char* a, const char* b);
size_t strlen(const char* text);
