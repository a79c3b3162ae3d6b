// SPDX-License-Identifier: Apache-2.0
/* Code that no plugin may load into a process: it creates a file in the current folder. */
#include <fcntl.h>
#include <unistd.h>

__attribute__((constructor)) static void leave_a_mark(void) {
  const int fd = open("foreign-was-here", O_CREAT | O_WRONLY, 0644);
  if (fd >= 0) close(fd);
}

__attribute__((visibility("default"))) int etb_foreign(void);
int etb_foreign(void) { return 1; }

/* The symbol of the library that it replaces. */
__attribute__((visibility("default"))) int etb_bundled_answer(void);
int etb_bundled_answer(void) { return 42; }
