/* A library that a plugin brings along beside itself. */
__attribute__((visibility("default"))) int etb_bundled_answer(void);
int etb_bundled_answer(void) { return 42; }
