# The build's whole vocabulary.
#
#   inlay_library(inlay_plan SOURCES plan.cpp plan_text.cpp DEPS inlay_base inlay_abi)
#   inlay_executable(inlay SOURCES main.cpp DEPS inlay_place CLI11::CLI11)
#   inlay_plugin(openblas SOURCES openblas.cpp DEPS OpenBLAS::OpenBLAS)
#   inlay_test(plan_test SOURCES plan_test.cpp DEPS inlay_plan)
#
# DEPS are link dependencies and are passed on to whoever links the target. One written with '::' is
# a third-party library; a plugin or test that wants one which is not installed is left out with one
# line saying so.

include(InlayPlugin)

# Adds a folder of the source tree if it has a CMakeLists.txt.
function(inlay_add_folder folder)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt)
    add_subdirectory(${folder})
  endif()
endfunction()

# Adds every folder below the current one that has a CMakeLists.txt, in the order of their names.
function(inlay_add_folders)
  file(GLOB lists RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS */CMakeLists.txt)
  foreach(list ${lists})
    get_filename_component(folder ${list} DIRECTORY)
    add_subdirectory(${folder})
  endforeach()
endfunction()

# Sets `out` to the third-party targets among the arguments that do not exist here.
function(inlay_missing_libraries out)
  set(missing)
  foreach(dependency ${ARGN})
    if(dependency MATCHES "::" AND NOT TARGET ${dependency})
      list(APPEND missing ${dependency})
    endif()
  endforeach()
  set(${out} ${missing} PARENT_SCOPE)
endfunction()

# inlay_library(NAME [SOURCES file...] [DEPS target...])
# A static library; one without sources is a set of headers.
function(inlay_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  if(arg_SOURCES)
    add_library(${name} STATIC ${arg_SOURCES})
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
    target_link_libraries(${name} PUBLIC ${arg_DEPS} PRIVATE inlay_options)
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR})
    target_link_libraries(${name} INTERFACE ${arg_DEPS})
  endif()
endfunction()

# inlay_executable(NAME SOURCES file... [DEPS target...])
# A program in bin/ of the build folder.
function(inlay_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} inlay_options)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
endfunction()

add_custom_target(inlay_plugins)

# inlay_plugin(NAME SOURCES file... [DEPS target...] [DIRECTORY folder])
# The target inlay_plugin_NAME makes NAME.so in plugins/ of the build folder, or in another folder
# of it: the broken plugins of a test must not lie beside the real ones. It exports inlay_plugin_query
# and nothing else, and links the plugin SDK.
function(inlay_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DIRECTORY" "SOURCES;DEPS")
  inlay_missing_libraries(missing ${arg_DEPS})
  if(missing)
    message(STATUS "Plugin ${name} left out: ${missing} not found")
    string(REPLACE ";" " and " missing "${missing}")
    set_property(GLOBAL APPEND PROPERTY INLAY_PLUGINS_LEFT_OUT "${name}: ${missing} not found")
    return()
  endif()
  set(target inlay_plugin_${name})
  set(directory plugins)
  if(arg_DIRECTORY)
    set(directory ${arg_DIRECTORY})
  else()
    add_dependencies(inlay_plugins ${target})
  endif()
  inlay_add_plugin(${target} ${name} ${directory} ${arg_SOURCES})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE inlay_sdk ${arg_DEPS} inlay_options)
endfunction()

# inlay_test(NAME SOURCES file... [DEPS target...] [PLUGINS name...] [LABELS label...] [LONG])
# A GoogleTest program that ctest runs, in a folder of its own. PLUGINS are built before it. LONG
# ones are labelled "long", which scripts/test leaves out unless asked. The target inlay_tests_LABEL
# builds all tests of that label; those labelled "threads" run under the thread sanitizer too. The
# program is compiled with
#   INLAY_TEST_DATA    tests/data of the sources
#   INLAY_PLUGIN_DIR   where the plugins are built
#   INLAY_BINARY_DIR   the build folder
#   INLAY_MODEL_DIR    where scripts/fetch-model puts its models
#   INLAY_SOURCE_DIR   the top of the sources
function(inlay_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "LONG" "" "SOURCES;DEPS;PLUGINS;LABELS")
  if(NOT BUILD_TESTING)
    return()
  endif()
  inlay_missing_libraries(missing ${arg_DEPS})
  if(missing)
    message(STATUS "Test ${name} left out: ${missing} not found")
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} GTest::gtest_main inlay_options)
  target_compile_definitions(${name} PRIVATE
    INLAY_TEST_DATA="${CMAKE_SOURCE_DIR}/tests/data"
    INLAY_PLUGIN_DIR="${CMAKE_BINARY_DIR}/plugins"
    INLAY_BINARY_DIR="${CMAKE_BINARY_DIR}"
    INLAY_MODEL_DIR="${INLAY_MODEL_DIR}"
    INLAY_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  foreach(plugin ${arg_PLUGINS})
    if(TARGET inlay_plugin_${plugin})
      add_dependencies(${name} inlay_plugin_${plugin})
    endif()
  endforeach()

  set(timeout 120)
  if(arg_LONG)
    list(APPEND arg_LABELS long)
    set(timeout 900)
  endif()
  if(INLAY_SANITIZE)
    math(EXPR timeout "${timeout} * 5")
  endif()
  set(folder ${CMAKE_BINARY_DIR}/tests/${name}.run)
  file(MAKE_DIRECTORY ${folder})
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${folder})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout} LABELS "${arg_LABELS}")
  foreach(label ${arg_LABELS})
    if(NOT TARGET inlay_tests_${label})
      add_custom_target(inlay_tests_${label})
    endif()
    add_dependencies(inlay_tests_${label} ${name})
  endforeach()
endfunction()
