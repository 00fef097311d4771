/* Wants a function of the host's program. */
__attribute__((weak)) int inlay_internal_version(void);
int used_by_mutant2(void) { return inlay_internal_version != 0 ? inlay_internal_version() : 0; }
