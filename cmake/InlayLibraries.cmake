# The libraries of an installation, for programs that run plans. Included by InlayConfig.cmake.

if(NOT TARGET Inlay::tbb)
  add_library(Inlay::tbb SHARED IMPORTED)
  set_target_properties(Inlay::tbb PROPERTIES
    IMPORTED_LOCATION ${_inlay_prefix}/lib/libtbb.so.12 IMPORTED_SONAME libtbb.so.12)
endif()

if(NOT TARGET Inlay::c)
  add_library(Inlay::c SHARED IMPORTED)
  set_target_properties(Inlay::c PROPERTIES
    IMPORTED_LOCATION ${_inlay_prefix}/lib/libinlay.so
    IMPORTED_LINK_DEPENDENT_LIBRARIES Inlay::tbb
    INTERFACE_INCLUDE_DIRECTORIES ${_inlay_prefix}/include)
endif()
set(Inlay_c_FOUND TRUE)

if(NOT TARGET Inlay::inlay)
  find_package(fmt QUIET)
  find_library(INLAY_XXHASH_LIBRARY xxhash)
  find_package(Threads QUIET)
  if(TARGET fmt::fmt AND INLAY_XXHASH_LIBRARY AND TARGET Threads::Threads)
    add_library(Inlay::inlay STATIC IMPORTED)
    set_target_properties(Inlay::inlay PROPERTIES
      IMPORTED_LOCATION ${_inlay_prefix}/lib/libinlay_cpp.a
      IMPORTED_LINK_INTERFACE_LANGUAGES CXX
      INTERFACE_INCLUDE_DIRECTORIES "${_inlay_prefix}/include;${_inlay_prefix}/include/inlay"
      INTERFACE_COMPILE_FEATURES cxx_std_20
      INTERFACE_LINK_LIBRARIES
        "fmt::fmt;${INLAY_XXHASH_LIBRARY};Inlay::tbb;Threads::Threads;${CMAKE_DL_LIBS}"
      # Vendor libraries that plugins load look for theirs along the program's RPATH, not RUNPATH.
      INTERFACE_LINK_OPTIONS "-Wl,--disable-new-dtags")
  endif()
endif()
if(TARGET Inlay::inlay)
  set(Inlay_inlay_FOUND TRUE)
else()
  set(_inlay_reason "Inlay::inlay wants fmt and xxHash (Debian: libfmt-dev, libxxhash-dev)")
  set(Inlay_inlay_FOUND FALSE)
endif()
