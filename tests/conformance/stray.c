/* A second export. */
__attribute__((visibility("default"))) int stray(void) { return 0; }
