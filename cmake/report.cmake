# The analysis tool: report/ as a library, cli/ as the command over it. Ordinary C; docs/report.md is the map.
#
#   vitrine_report   libvitrine-report.a   reading profiles, symbols, views
#   vitrine_cli      bin/vitrine           the command; also installed as pprof, jeprof, google-pprof

find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBDW REQUIRED libdw libelf)
pkg_check_modules(PCRE2 REQUIRED libpcre2-8)
pkg_check_modules(ZSTD REQUIRED libzstd)
pkg_check_modules(CURL REQUIRED libcurl) # the headers; report/late.h loads it when it is needed
find_path(DEBUGINFOD_INCLUDE elfutils/debuginfod.h REQUIRED) # the same
pkg_check_modules(EDIT REQUIRED libedit)
pkg_check_modules(CAPSTONE REQUIRED capstone)
find_path(IBERTY_INCLUDE demangle.h PATH_SUFFIXES libiberty REQUIRED)
find_library(IBERTY_LIBRARY iberty REQUIRED)

set(VT_REPORT_SOURCES
    report/memory.c report/error.c report/profile.c
    report/reader.c report/read.c report/read_heap.c report/read_jemalloc.c report/read_cpu.c report/read_contention.c
    report/read_symbolized.c report/read_proto.c report/read_collapsed.c report/read_perf.c report/read_heaptrack.c
    report/intake.c report/regular.c report/threads.c report/read_symbols.c report/late.c report/fetch.c report/remote.c
    report/names.c report/debug_file.c report/module.c report/symbols.c
    report/regex.c report/view.c report/filter.c report/table.c report/view_top.c report/view_tree.c report/view_peek.c report/fold.c report/group.c report/timeline.c report/view_sites.c report/view_stacks.c report/view_raw.c
    report/view_flame.c report/edges.c report/view_dot.c report/view_list.c report/view_callgrind.c
    report/write_proto.c report/write_symbolized.c
    report/text.c report/source.c report/label_filter.c report/label_frames.c report/write_top.c
    report/estimate.c report/read_kept_names.c report/write_kept_names.c
    report/view_tags.c report/view_disasm.c report/write_tables.c
    report/call_graph.c report/layout.c report/font.c report/raster.c report/canvas.c report/view_graph.c
    report/call_tree.c report/write_speedscope.c report/write_firefox.c report/write_trace.c report/progress.c
    report/elf_symbol.c report/control.c report/image.c report/read_box.c)

# What pictures and pages are made of lies in web/ as plain files and goes into the library as it is.
foreach(file flame.css flame.js flame.svg flame.html graph.js)
    string(REPLACE . _ name web_${file})
    add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/${name}.c
        COMMAND ${CMAKE_COMMAND} -DIN=${CMAKE_SOURCE_DIR}/web/${file} -DOUT=${CMAKE_BINARY_DIR}/${name}.c -DNAME=${name}
                -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
        DEPENDS ${CMAKE_SOURCE_DIR}/web/${file} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake)
    list(APPEND VT_REPORT_SOURCES ${CMAKE_BINARY_DIR}/${name}.c)
    list(APPEND VT_WEB_FILES ${CMAKE_BINARY_DIR}/${name}.c)
endforeach()
# One target makes them, so that the flavours of the library do not make them at the same time.
add_custom_target(vitrine_web_files DEPENDS ${VT_WEB_FILES})

function(vt_report_flags target)
    add_dependencies(${target} vitrine_web_files)
    target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR})
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/include ${LIBDW_INCLUDE_DIRS}
                               ${PCRE2_INCLUDE_DIRS} ${ZSTD_INCLUDE_DIRS} ${CURL_INCLUDE_DIRS}
                               ${IBERTY_INCLUDE})
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
    target_compile_options(${target} PRIVATE ${VT_WARNINGS} -fvisibility=hidden ${ARGN})
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

add_library(vitrine_report STATIC ${VT_REPORT_SOURCES})
vt_report_flags(vitrine_report)
set_target_properties(vitrine_report PROPERTIES OUTPUT_NAME vitrine-report)
set(VT_REPORT_LINK ${LIBDW_LINK_LIBRARIES} ${PCRE2_LINK_LIBRARIES} ${CAPSTONE_LINK_LIBRARIES} ZLIB::ZLIB ${ZSTD_LINK_LIBRARIES}
    ${IBERTY_LIBRARY} ${CMAKE_DL_LIBS} m)
target_link_libraries(vitrine_report PUBLIC ${VT_REPORT_LINK})

# The same under sanitizers, for tests: vitrine_report_asan, vitrine_report_ubsan.
if(VT_TESTS)
    foreach(flavour asan ubsan)
        add_library(vitrine_report_${flavour} STATIC ${VT_REPORT_SOURCES})
        vt_report_flags(vitrine_report_${flavour} ${VT_FLAGS_${flavour}})
        target_link_libraries(vitrine_report_${flavour} PUBLIC ${VT_REPORT_LINK})
        target_link_options(vitrine_report_${flavour} INTERFACE ${VT_FLAGS_${flavour}})
    endforeach()
endif()

set(VT_CLI_SOURCES cli/main.c cli/options.c cli/load.c cli/output.c cli/cmd_views.c cli/cmd_convert.c cli/cmd_flame.c cli/cmd_graph.c cli/cmd_diff.c cli/terminal.c
    cli/graphviz.c cli/remote.c cli/dialect_pprof.c cli/pprof_options.c cli/pprof_text.c
    cli/pprof_prompt.c cli/pprof_settings.c cli/viewer.c cli/preload.c cli/cmd_run.c cli/run_report.c cli/rows.c cli/cmd_ps.c cli/cmd_ctl.c cli/cmd_check.c
    cli/symbolize.c cli/cmd_symbolize.c cli/residence.c cli/run_summary.c cli/box_files.c cli/cmd_read.c cli/box_folder.c cli/run_boxes.c)
set(VT_OLD_COMMANDS pprof google-pprof jeprof)

# From the installed command to the installed library, whatever LIBDIR is; the tree may be moved.
file(RELATIVE_PATH VT_LIB_FROM_BIN /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_LIBDIR})

# What the command shares with the library: how files are made that others cannot lead astray, src/os/draft.h.
add_library(vitrine_files STATIC src/base/text.c src/os/file.c src/os/place.c src/os/draft.c src/os/process.c)
vt_flags(vitrine_files)

# vt_cli(target library folder [flags ...]): the command in a folder of the build tree, with its old names beside it.
function(vt_cli target library folder)
    add_executable(${target} ${VT_CLI_SOURCES})
    target_compile_definitions(${target} PRIVATE VT_LIB_FROM_BIN="${VT_LIB_FROM_BIN}")
    vt_report_flags(${target} ${ARGN})
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(${target} PRIVATE ${library} vitrine_files ${EDIT_LINK_LIBRARIES})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME vitrine RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${folder})
    foreach(old ${VT_OLD_COMMANDS})
        add_custom_command(TARGET ${target} POST_BUILD
            COMMAND ${CMAKE_COMMAND} -E create_symlink vitrine ${CMAKE_BINARY_DIR}/${folder}/${old})
    endforeach()
endfunction()

vt_cli(vitrine_cli vitrine_report bin)
if(VT_TESTS)
    vt_cli(vitrine_cli_asan vitrine_report_asan bin-asan ${VT_FLAGS_asan})
endif()
install(TARGETS vitrine_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES completion/vitrine.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME vitrine)
install(FILES completion/_vitrine DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES completion/vitrine.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
if(VT_COMPAT)
    foreach(old ${VT_OLD_COMMANDS})
        install(CODE "file(CREATE_LINK vitrine \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/${old}\" SYMBOLIC)")
    endforeach()
endif()
