# What `cmake --install` (or `make install PREFIX=DIR [COMPAT=0]`) lays down:
#
#   bin/             vitrine; pprof, google-pprof, jeprof as links to it (cmake/report.cmake)
#   lib/             libvitrine.so.1.0.0 with its links, libvitrine-secure.so, libvitrine.a;
#                    libprofiler.so.0 with its links, libprofiler.a (cmake/profiler.cmake);
#                    libtcmalloc.so.4 and its four sisters, the same (cmake/gperftools.cmake);
#                    libjemalloc.so.2, the same, with bin/jemalloc-config and jemalloc/jemalloc.h (cmake/jemalloc.cmake);
#                    libmimalloc.so.3, .so.2, .a, mimalloc.o, the same (cmake/mimalloc.cmake)
#   lib/pkgconfig    vitrine.pc, libprofiler.pc, libtcmalloc.pc and three more, jemalloc.pc, mimalloc.pc
#   lib/cmake        the package `vitrine` with vitrine::vitrine, vitrine::secure, vitrine::static
#   include/         vitrine.h, vitrine-control.h, vitrine-box.h; gperftools/*.h, and the same by their older path google/; mimalloc*.h
#   share/           man pages (man/CMakeLists.txt), README, docs and LICENSE; completion for bash, zsh and fish (cmake/report.cmake)
#
# The tree may be moved afterwards: both package files find their prefix from where they lie.
# libvitrine-fast.so and libvitrine-audit.so are for measuring and testing; they are not installed.

option(VT_COMPAT "install old names too: pprof, google-pprof, jeprof, libprofiler, libtcmalloc, libjemalloc, libmimalloc" ON)

file(STRINGS ${CMAKE_SOURCE_DIR}/include/vitrine.h VT_HEADER_VERSION REGEX "^#define VITRINE_VERSION ")
if(NOT VT_HEADER_VERSION STREQUAL "#define VITRINE_VERSION \"${PROJECT_VERSION}\"")
    message(FATAL_ERROR "vitrine.h has '${VT_HEADER_VERSION}', the project is ${PROJECT_VERSION}")
endif()

include(CMakePackageConfigHelpers)
set(VT_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/vitrine)
set(VT_PKGCONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# ---- libraries and header

target_include_directories(vitrine_secure INTERFACE
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(vitrine_static INTERFACE -pthread) # before glibc 2.34 libpthread is a library of its own
# A program that calls malloc only through libc (strdup), or whose calls a link-time optimizer makes late, would else
# find libc's malloc: the linker has gone past our archive by then.
target_link_options(vitrine_static INTERFACE LINKER:-u,malloc)
# The CPU profiler's constructor, which reads CPUPROFILE and cpu_profile, is in an object nobody else asks for.
target_link_options(vitrine_static INTERFACE LINKER:-u,vt_profiler_functions)
# gcc leaves the index of the unwinding tables out of static programs; without it stacks have one frame.
target_link_options(vitrine_static INTERFACE LINKER:--eh-frame-hdr)
set_target_properties(vitrine_secure PROPERTIES EXPORT_NAME secure)
set_target_properties(vitrine_static PROPERTIES EXPORT_NAME static)
# Inside this tree they have the names that users of the installed package know.
add_library(vitrine::vitrine ALIAS vitrine)
add_library(vitrine::secure ALIAS vitrine_secure)
add_library(vitrine::static ALIAS vitrine_static)

install(TARGETS vitrine vitrine_secure vitrine_static EXPORT vitrine-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${CMAKE_SOURCE_DIR}/include/vitrine.h ${CMAKE_SOURCE_DIR}/include/vitrine-control.h
    ${CMAKE_SOURCE_DIR}/include/vitrine-box.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# ---- the CMake package

install(EXPORT vitrine-targets NAMESPACE vitrine:: DESTINATION ${VT_PACKAGE_DIR})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/vitrine-config.cmake.in
    ${CMAKE_BINARY_DIR}/vitrine-config.cmake INSTALL_DESTINATION ${VT_PACKAGE_DIR}
    NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/vitrine-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/vitrine-config.cmake ${CMAKE_BINARY_DIR}/vitrine-config-version.cmake
    DESTINATION ${VT_PACKAGE_DIR})

# ---- pkg-config

# From the folder of vitrine.pc up to the prefix and down again, whatever LIBDIR is (lib, lib64, lib/x86_64-linux-gnu).
file(RELATIVE_PATH VT_PC_TO_PREFIX /prefix/${VT_PKGCONFIG_DIR} /prefix)
string(REGEX REPLACE "/$" "" VT_PC_TO_PREFIX "${VT_PC_TO_PREFIX}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/vitrine.pc.in ${CMAKE_BINARY_DIR}/vitrine.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/vitrine.pc DESTINATION ${VT_PKGCONFIG_DIR})

# ---- reading matter

# The README with all that it refers to.
set(VT_DOC_DIR ${CMAKE_INSTALL_DATADIR}/doc/vitrine)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${VT_DOC_DIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs DESTINATION ${VT_DOC_DIR} FILES_MATCHING PATTERN *.md)
install(FILES ${CMAKE_SOURCE_DIR}/bench/README.md DESTINATION ${VT_DOC_DIR}/bench)
add_subdirectory(man)
