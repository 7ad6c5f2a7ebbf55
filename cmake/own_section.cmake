# Renames the sections of code in an archive, .text and .text.*, to vt_text: a name the linker gives __start_ and __stop_
# symbols for, by which src/stack/own_static.c tells our frames from the program's.
#
#   cmake -DARCHIVE=libvitrine.a -DOBJDUMP=objdump -DOBJCOPY=objcopy -P own_section.cmake

execute_process(COMMAND ${OBJDUMP} -h -w ${ARCHIVE} OUTPUT_VARIABLE headers RESULT_VARIABLE status)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "cannot list the sections of '${ARCHIVE}'")
endif()
string(REGEX MATCHALL "[ \t](\\.text[^ \t\n]*)" names "${headers}")
list(REMOVE_DUPLICATES names)
set(renames)
foreach(name ${names})
    string(STRIP "${name}" name)
    list(APPEND renames --rename-section ${name}=vt_text)
endforeach()
execute_process(COMMAND ${OBJCOPY} ${renames} ${ARCHIVE} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "cannot rename the sections of '${ARCHIVE}'")
endif()
