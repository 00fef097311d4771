# find_package(Inlay CONFIG [COMPONENTS inlay c sdk])
#
#   Inlay::inlay   the C++ API, <inlay/session.h>; static, wants fmt and xxHash
#   Inlay::c       the C API, <inlay/inlay.h>; libinlay.so
#   Inlay::sdk     headers for plugins, "core/sdk/plugin.h"
#   inlay_plugin(NAME SOURCES file... [DEPS target...] [DIRECTORY folder])
#                  the target inlay_plugin_NAME makes NAME.so in plugins/ (or `folder`) of the build
#   Inlay_PLUGIN_DIR   the installed plugins, for RuntimeOptions::plugins
#   Inlay_PROGRAM      the inlay program

get_filename_component(_inlay_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(Inlay_PLUGIN_DIR ${_inlay_prefix}/lib/inlay/plugins)
set(Inlay_PROGRAM ${_inlay_prefix}/bin/inlay)
include(${CMAKE_CURRENT_LIST_DIR}/InlayPlugin.cmake)

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

if(NOT TARGET Inlay::sdk)
  add_library(Inlay::sdk INTERFACE IMPORTED)
  set_target_properties(Inlay::sdk PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES ${_inlay_prefix}/include/inlay
    INTERFACE_COMPILE_FEATURES cxx_std_20)
endif()
set(Inlay_sdk_FOUND TRUE)

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

foreach(_inlay_component ${Inlay_FIND_COMPONENTS})
  if(Inlay_FIND_REQUIRED_${_inlay_component} AND NOT Inlay_${_inlay_component}_FOUND)
    set(Inlay_FOUND FALSE)
    set(Inlay_NOT_FOUND_MESSAGE "component ${_inlay_component}: ${_inlay_reason}")
  endif()
endforeach()

function(inlay_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DIRECTORY" "SOURCES;DEPS")
  if(NOT arg_DIRECTORY)
    set(arg_DIRECTORY plugins)
  endif()
  inlay_add_plugin(inlay_plugin_${name} ${name} ${arg_DIRECTORY} ${arg_SOURCES})
  target_link_libraries(inlay_plugin_${name} PRIVATE Inlay::sdk ${arg_DEPS})
endfunction()
