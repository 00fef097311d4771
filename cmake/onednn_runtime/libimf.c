// See CMakeLists.txt: the library exists for what it needs, not for what it has.
typedef int inlay_libimf_is_empty;
