# Every third-party library, as an imported target. The first group is needed; a library of the
# second may be missing, and then what uses it is left out (see inlay_plugin).
#
# What scripts/install-deps unpacks from pinned packages lies in INLAY_DEPS_DIR, one for all builds.

set(INLAY_DEPS_DIR ${CMAKE_SOURCE_DIR}/build/deps CACHE PATH "Where scripts/install-deps unpacks")
set(INLAY_MODEL_DIR ${CMAKE_SOURCE_DIR}/build/models CACHE PATH "Where scripts/fetch-model saves")

# Makes an imported shared library of a file and its headers; does nothing if one is missing.
function(inlay_import_shared target library include)
  if(NOT EXISTS ${library} OR NOT EXISTS ${include})
    return()
  endif()
  get_filename_component(soname ${library} NAME)
  add_library(${target} SHARED IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION ${library} IMPORTED_SONAME ${soname}
    INTERFACE_INCLUDE_DIRECTORIES ${include})
endfunction()

# ---- needed

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)            # fmt::fmt
find_package(nlohmann_json REQUIRED)  # nlohmann_json::nlohmann_json
find_package(SQLite3 REQUIRED)        # SQLite::SQLite3
find_package(spdlog REQUIRED)         # spdlog::spdlog
find_package(CLI11 REQUIRED)          # CLI11::CLI11
find_package(Protobuf REQUIRED)       # protobuf::libprotobuf-lite
if(BUILD_TESTING)
  find_package(GTest REQUIRED)        # GTest::gtest_main
endif()

# Boost.DLL and Boost.Graph are used header-only: std::filesystem takes boost_filesystem's place.
find_package(Boost 1.74 REQUIRED)
target_compile_definitions(Boost::headers INTERFACE BOOST_DLL_USE_STD_FS)
target_link_libraries(Boost::headers INTERFACE ${CMAKE_DL_LIBS})

find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_library(XXHASH_LIBRARY xxhash REQUIRED)
add_library(xxHash::xxhash UNKNOWN IMPORTED GLOBAL)
set_target_properties(xxHash::xxhash PROPERTIES
  IMPORTED_LOCATION ${XXHASH_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${XXHASH_INCLUDE_DIR})

# Debian's CMake file of libzip asks for programs of another package.
find_path(LIBZIP_INCLUDE_DIR zip.h REQUIRED)
find_library(LIBZIP_LIBRARY zip REQUIRED)
add_library(libzip::zip UNKNOWN IMPORTED GLOBAL)
set_target_properties(libzip::zip PROPERTIES
  IMPORTED_LOCATION ${LIBZIP_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${LIBZIP_INCLUDE_DIR})

# One oneTBB serves the process, and the first loaded wins: it is the pinned one, newer than any
# that a vendor's library brings along.
inlay_import_shared(TBB::tbb ${INLAY_DEPS_DIR}/tbb/lib/libtbb.so.12 ${INLAY_DEPS_DIR}/tbb/include)
set(INLAY_ONNX_PROTO ${INLAY_DEPS_DIR}/onnx/onnx/onnx.proto)
if(NOT TARGET TBB::tbb OR NOT EXISTS ${INLAY_ONNX_PROTO})
  message(FATAL_ERROR
    "oneTBB or the ONNX schema is not in ${INLAY_DEPS_DIR}: run scripts/install-deps")
endif()

# The ONNX schema in C++ (lite runtime): #include "onnx/onnx.pb.h", namespace onnx.
set(generated ${CMAKE_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${generated})
add_custom_command(
  OUTPUT ${generated}/onnx/onnx.pb.cc ${generated}/onnx/onnx.pb.h
  COMMAND protobuf::protoc -I ${INLAY_DEPS_DIR}/onnx --cpp_out=${generated} ${INLAY_ONNX_PROTO}
  DEPENDS ${INLAY_ONNX_PROTO} protobuf::protoc
  VERBATIM)
add_library(inlay_onnx_proto STATIC EXCLUDE_FROM_ALL ${generated}/onnx/onnx.pb.cc)
target_include_directories(inlay_onnx_proto SYSTEM PUBLIC ${generated})
target_link_libraries(inlay_onnx_proto PUBLIC protobuf::libprotobuf-lite)
if(INLAY_SANITIZE)
  target_compile_options(inlay_onnx_proto PRIVATE -fsanitize=${INLAY_SANITIZE})
endif()

# ---- optional

# OpenBLAS::OpenBLAS: the build on POSIX threads, whose thread count one call can cap.
find_path(OPENBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas-pthread)
find_library(OPENBLAS_LIBRARY openblas PATH_SUFFIXES openblas-pthread)
if(OPENBLAS_INCLUDE_DIR AND OPENBLAS_LIBRARY)
  add_library(OpenBLAS::OpenBLAS UNKNOWN IMPORTED GLOBAL)
  set_target_properties(OpenBLAS::OpenBLAS PROPERTIES
    IMPORTED_LOCATION ${OPENBLAS_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${OPENBLAS_INCLUDE_DIR})
endif()

# DNNL::dnnl: oneDNN on oneTBB, and on the two stand-ins for the Intel compiler's libraries.
# Under the thread sanitizer it counts as missing, since it shares work out by oneTBB (InlayOptions).
if(NOT INLAY_SANITIZE MATCHES thread)
  inlay_import_shared(DNNL::dnnl
    ${INLAY_DEPS_DIR}/onednn/lib/libdnnl.so.3 ${INLAY_DEPS_DIR}/onednn/include)
endif()
if(TARGET DNNL::dnnl)
  add_subdirectory(${CMAKE_SOURCE_DIR}/cmake/onednn_runtime onednn_runtime)
  target_link_libraries(DNNL::dnnl INTERFACE TBB::tbb inlay_libimf inlay_libintlc)
endif()

# OpenVINO::runtime, on the process's oneTBB. Only the parts that run ONNX models on a CPU are there;
# it loads its two others from its own folder by itself. Engines count as missing under sanitizers:
# those see nothing inside them, forbid a way in which oneTBB loads a library for OpenVINO, and hide
# from the loader which plugin opens one by name.
if(NOT INLAY_SANITIZE)
  inlay_import_shared(OpenVINO::runtime
    ${INLAY_DEPS_DIR}/openvino/lib/libopenvino.so.2641 ${INLAY_DEPS_DIR}/openvino/include)
endif()
if(TARGET OpenVINO::runtime)
  list(APPEND INLAY_OPENED_LIBRARIES
    ${INLAY_DEPS_DIR}/openvino/lib/libopenvino_intel_cpu_plugin.so
    ${INLAY_DEPS_DIR}/openvino/lib/libopenvino_onnx_frontend.so.2641)
  set_target_properties(OpenVINO::runtime PROPERTIES
    INTERFACE_COMPILE_DEFINITIONS OV_THREAD=OV_THREAD_TBB_ADAPTIVE)
  target_link_libraries(OpenVINO::runtime INTERFACE TBB::tbb)
endif()

# OnnxRuntime::onnxruntime: not linked but opened by its plugin, which must first turn its telemetry
# off. Needs no header.
set(INLAY_ONNXRUNTIME_LIBRARY ${INLAY_DEPS_DIR}/onnxruntime/lib/libonnxruntime.so.1)
if(EXISTS ${INLAY_ONNXRUNTIME_LIBRARY} AND NOT INLAY_SANITIZE)
  add_library(OnnxRuntime::onnxruntime INTERFACE IMPORTED GLOBAL)
  list(APPEND INLAY_OPENED_LIBRARIES ${INLAY_ONNXRUNTIME_LIBRARY})
endif()
