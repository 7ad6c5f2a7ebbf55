# cmake -DOUT=file.c -DNAME=name -DIN=file -P embed.cmake: a file as a C array, `const char name[]` with a NUL behind.
file(READ ${IN} bytes HEX)
string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
get_filename_component(from ${IN} NAME)
file(WRITE ${OUT} "/* made of ${from} by cmake/embed.cmake */\nextern const char ${NAME}[];\nconst char ${NAME}[] = {${bytes}0};\n")
