/* Looks as if it were built with a sanitizer. */
__attribute__((weak)) void __asan_init(void);
void used_by_mutant19(void) {
  if (__asan_init != 0) __asan_init();
}
