# What every target is compiled and linked with. Kernels that want more than the baseline
# instruction set choose it at run time, so nothing here names one.

set(INLAY_SANITIZE "" CACHE STRING "Sanitizers to build with: 'address,undefined' or 'thread'")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Optimised code is most of the build's time; -O3 gains nothing outside kernels, which ask for it.
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
# Used by the sanitizer presets: assertions stay on.
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O1 -g1 -fno-omit-frame-pointer")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1 -fno-omit-frame-pointer")

find_program(INLAY_CCACHE ccache)
if(INLAY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${INLAY_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${INLAY_CCACHE})
endif()

add_library(inlay_options INTERFACE)
# Designated initializers leave members out on purpose: their defaults are meant.
target_compile_options(inlay_options INTERFACE -Wall -Wextra -Werror -Wno-missing-field-initializers)
if(INLAY_SANITIZE)
  target_compile_options(inlay_options INTERFACE
    -fsanitize=${INLAY_SANITIZE} -fno-sanitize-recover=all
    # A check at every dereference and every virtual call, which costs much compile time; a null
    # pointer or a dead object's table ends the process under the address sanitizer anyway.
    -fno-sanitize=null,vptr
    # The optimiser sees the sanitizer's own paths and warns about values that only they use.
    -Wno-error=uninitialized -Wno-error=maybe-uninitialized)
  target_link_options(inlay_options INTERFACE -fsanitize=${INLAY_SANITIZE})
endif()
if(INLAY_SANITIZE MATCHES thread)
  # oneTBB's synchronisation is invisible to the thread sanitizer, which then reports races that are
  # none; the executor has a second scheduler on std::thread behind the same interface.
  target_compile_definitions(inlay_options INTERFACE INLAY_STD_THREAD_SCHEDULER=1)
  # GCC's thread sanitizer does not model atomic_thread_fence and warns wherever one is compiled.
  target_compile_options(inlay_options INTERFACE -Wno-error=tsan)
endif()

# RPATH, not RUNPATH: only the former also serves the libraries of a plugin's libraries, which keeps
# LD_LIBRARY_PATH out of every command.
add_link_options(-Wl,--disable-new-dtags -Wl,--build-id=sha1)
