/* Wants a function of a library that it is not linked with, and which the process has. */
int TBB_runtime_interface_version(void);
int used_by_mutant7(void) { return TBB_runtime_interface_version(); }
