# What `cmake --install BUILD --prefix PREFIX` makes:
#
#   bin/inlay, bin/inlay-worker   the programs
#   include/inlay/                session.h and inlay.h, with the few headers they need; core/sdk and
#                                 core/abi for plugins
#   lib/                          libinlay.so (C), libinlay_cpp.a (C++), and the pinned libraries
#                                 that no Debian package has: oneTBB, oneDNN and its stand-ins,
#                                 OpenVINO, ONNX Runtime
#   lib/inlay/                    plugins/, and inlay-run, which `inlay bundle` copies
#   lib/cmake/Inlay/              find_package(Inlay CONFIG)
#   share/doc/inlay/              plugin_guide.md
#
# All of it finds its parts by their place relative to each other, so a prefix may be moved.

include(CMakePackageConfigHelpers)

# Installs a target that the build has, with the place of lib/ as seen from its own.
function(inlay_install target destination to_lib)
  if(NOT TARGET ${target})
    return()
  endif()
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "${to_lib}")
  install(TARGETS ${target}
    RUNTIME DESTINATION ${destination}
    LIBRARY DESTINATION ${destination}
    ARCHIVE DESTINATION ${destination})
endfunction()

inlay_install(inlay bin "\$ORIGIN/../lib")
inlay_install(inlay-worker bin "\$ORIGIN/../lib")
inlay_install(inlay-check-worker bin "\$ORIGIN/../lib")
inlay_install(inlay_c lib "\$ORIGIN")
inlay_install(inlay_cpp lib "")
inlay_install(inlay_libimf lib "\$ORIGIN")
inlay_install(inlay_libintlc lib "\$ORIGIN")
get_target_property(plugins inlay_plugins MANUALLY_ADDED_DEPENDENCIES)
foreach(plugin ${plugins})
  inlay_install(${plugin} lib/inlay/plugins "\$ORIGIN/../..:\$ORIGIN/../lib")
endforeach()
# Linked for its place in a bundle, and never run from here.
if(TARGET inlay-run)
  install(TARGETS inlay-run RUNTIME DESTINATION lib/inlay)
endif()
foreach(library TBB::tbb DNNL::dnnl OpenVINO::runtime)
  if(TARGET ${library})
    install(FILES $<TARGET_FILE:${library}> DESTINATION lib)
  endif()
endforeach()
install(FILES ${INLAY_OPENED_LIBRARIES} DESTINATION lib)

foreach(folder base abi sdk)
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/core/${folder}/*.h)
  if(folder STREQUAL base)  # what session.h includes
    list(FILTER headers INCLUDE REGEX "/(dtype|error|log|shape|tensor)\\.h$")
  endif()
  install(FILES ${headers} DESTINATION include/inlay/core/${folder})
endforeach()
install(FILES core/session/session.h core/session/inlay.h DESTINATION include/inlay)
install(FILES docs/plugin_guide.md DESTINATION share/doc/inlay)

write_basic_package_version_file(${CMAKE_BINARY_DIR}/InlayConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  cmake/InlayConfig.cmake cmake/InlayLibraries.cmake cmake/InlayPlugin.cmake cmake/plugin.map
  ${CMAKE_BINARY_DIR}/InlayConfigVersion.cmake
  DESTINATION lib/cmake/Inlay)

# The same for plugins in the folder of the build, so that `inlay new-plugin` works uninstalled.
foreach(file InlayConfig.cmake InlayPlugin.cmake plugin.map)
  configure_file(cmake/${file} ${CMAKE_BINARY_DIR}/lib/cmake/Inlay/${file} COPYONLY)
endforeach()
configure_file(${CMAKE_BINARY_DIR}/InlayConfigVersion.cmake
  ${CMAKE_BINARY_DIR}/lib/cmake/Inlay/InlayConfigVersion.cmake COPYONLY)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/lib/cmake/Inlay/InlayBuildTree.cmake @ONLY CONTENT
"set(Inlay_PLUGIN_DIR \"\${_inlay_prefix}/plugins\")
set(_inlay_sdk_include \"@CMAKE_SOURCE_DIR@\")
")
