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
set(_inlay_sdk_include ${_inlay_prefix}/include/inlay)
include(${CMAKE_CURRENT_LIST_DIR}/InlayPlugin.cmake)
# A folder that Inlay was built in serves plugins before anything is installed; where its parts are
# stands in this file (InlayInstall.cmake writes it).
include(${CMAKE_CURRENT_LIST_DIR}/InlayBuildTree.cmake OPTIONAL RESULT_VARIABLE _inlay_build_tree)

if(NOT TARGET Inlay::sdk)
  add_library(Inlay::sdk INTERFACE IMPORTED)
  set_target_properties(Inlay::sdk PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES ${_inlay_sdk_include}
    INTERFACE_COMPILE_FEATURES cxx_std_20)
endif()
set(Inlay_sdk_FOUND TRUE)

if(NOT _inlay_build_tree)
  include(${CMAKE_CURRENT_LIST_DIR}/InlayLibraries.cmake)
else()
  set(Inlay_c_FOUND FALSE)
  set(Inlay_inlay_FOUND FALSE)
  set(_inlay_reason "a build folder offers the component sdk; the others want an installation\
 (cmake --install ${_inlay_prefix} --prefix PREFIX)")
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
