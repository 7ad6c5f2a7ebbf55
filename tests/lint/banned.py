#!/usr/bin/env python3
"""banned.py - functions that must not be called.

Under src/ a line runs inside malloc, in a signal handler or in the user's process: nothing there may
allocate, use stdio or read the environment by itself. A few functions are banned everywhere because they
cannot be used safely. Definitions and declarations are fine (src/dialect defines malloc). Where a call is
right, its line says so and why:    fflush(f);  /* allowed: malloc_info is given a FILE */

The built library is looked at as well: what it imports cannot be hidden by a macro.
"""
import os
import re
import subprocess
import sys

import tree

ALLOCATING = """malloc calloc realloc free reallocarray aligned_alloc posix_memalign memalign valloc pvalloc
    strdup strndup asprintf vasprintf getline getdelim open_memstream qsort opendir scandir getcwd realpath
    regcomp setlocale backtrace_symbols""".split()
STDIO = """printf fprintf vprintf vfprintf dprintf vdprintf snprintf vsnprintf sprintf vsprintf puts fputs
    fputc putc putchar perror fopen fdopen freopen fclose fflush fread fwrite fgets fgetc getc scanf fscanf
    sscanf tmpfile popen""".split()
LIBC_STATE = "strerror strerror_r getenv setenv putenv unsetenv exit atexit system localtime gmtime".split()
UNSAFE = "strcpy strcat stpcpy sprintf vsprintf strtok gets".split()

IN_SRC = set(ALLOCATING + STDIO + LIBC_STATE + UNSAFE)
EVERYWHERE = set(UNSAFE)
KEYWORDS = set("return else do case sizeof if while for switch goto".split())
ALLOWED = re.compile(r"allowed: \S+")
TOKEN = re.compile(r"[A-Za-z_]\w*|->|\S")


def is_call(tokens, i):
    """tokens[i] is a banned name; is it called here, or declared, or the field of a struct?"""
    if i + 1 >= len(tokens) or tokens[i + 1][0] != "(":
        return False
    k = i - 1
    if k >= 0 and tokens[k][0] in (".", "->"):
        return False
    while k >= 0 and tokens[k][0] in ("*", "const", "restrict"):
        k -= 1
    if k < 0:
        return False
    before = tokens[k][0]
    is_word = re.match(r"[A-Za-z_]", before) is not None
    return not is_word or before in KEYWORDS     # a word before it is a type: a declaration


def calls(path, banned):
    """[(line number, name, is allowed)]"""
    text = tree.read(path)
    lines = text.split("\n")
    # a line of the preprocessor mentions names without calling; what a macro calls is seen in the library
    code = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: re.sub(r"[^\n]", " ", m.group()),
                  tree.without_comments_and_strings(text), flags=re.M)
    tokens = [(m.group(), m.start()) for m in TOKEN.finditer(code)]
    found = []
    for i, (word, at) in enumerate(tokens):
        if word in banned and is_call(tokens, i):
            number = code.count("\n", 0, at) + 1
            found.append((number, word, ALLOWED.search(lines[number - 1]) is not None))
    return found


def imports(library):
    out = subprocess.run(["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True)
    return {line.split()[-1].split("@")[0] for line in out.stdout.splitlines() if line.split()}


def main():
    n_bad, n_files, allowed = 0, 0, set()
    for path in tree.files("src", "include", "report", "serve", "cli", "tests", "bench"):
        n_files += 1
        in_src = path.startswith("src" + os.sep)
        for number, name, is_allowed in calls(path, IN_SRC if in_src else EVERYWHERE):
            if is_allowed:
                allowed.add(name)
                continue
            n_bad += 1
            print(f"{path}:{number}: {name}() is banned {'under src/' if in_src else 'everywhere'}")
    for variable in ("VT_SO", "VT_SECURE_SO"):
        library = os.environ.get(variable)
        if not library:
            print(f"{variable} is not set: imports not looked at")
            continue
        for name in sorted(imports(library) & (IN_SRC - allowed)):
            n_bad += 1
            print(f"{os.path.basename(library)}: imports {name}, which is banned under src/")
    print(f"{n_files} files: expected 0 banned calls, seen {n_bad}")
    return 1 if n_bad or not n_files else 0


if __name__ == "__main__":
    sys.exit(main())
