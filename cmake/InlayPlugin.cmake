# How a plugin is built; used in the tree (InlayTargets) and, installed, outside it (InlayConfig).

# inlay_add_plugin(TARGET NAME DIRECTORY file...)
# NAME.so in DIRECTORY of the build folder. It exports inlay_plugin_query and nothing else, resolves
# every symbol when it is linked, and has the build id by which plans and measurements know it.
function(inlay_add_plugin target name directory)
  add_library(${target} MODULE ${ARGN})
  set(map ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/plugin.map)
  # Unique symbols would be shared between plugins although each is loaded with a scope of its own.
  target_compile_options(${target} PRIVATE -fno-gnu-unique)
  target_link_options(${target} PRIVATE
    -Wl,--version-script=${map} -Wl,-z,defs -Wl,--build-id=sha1 -Wl,--disable-new-dtags)
  set_target_properties(${target} PROPERTIES
    PREFIX "" OUTPUT_NAME ${name}
    # Where a bundle has the libraries of its plugins.
    BUILD_RPATH "\$ORIGIN/../lib" INSTALL_RPATH "\$ORIGIN/../lib"
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${directory}
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LINK_DEPENDS ${map})
endfunction()
