// SPDX-License-Identifier: Apache-2.0
/* A library that a plugin ships beside itself. */
#ifndef ANSWER
#define ANSWER 42
#endif

#if defined(UNIQUE)
/* A symbol that is unique in the process, like the C++ library's templates: the loader never unloads its library. */
__asm__(".pushsection .data\n.globl etb_unique\n.type etb_unique, %gnu_unique_object\n"
        ".size etb_unique, 8\netb_unique: .quad 1\n.popsection\n");
extern long etb_unique;
__attribute__((visibility("default"))) long* etb_unique_user(void);
long* etb_unique_user(void) { return &etb_unique; }
#endif

__attribute__((visibility("default"))) int etb_bundled_answer(void);
int etb_bundled_answer(void) { return ANSWER; }
