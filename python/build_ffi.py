"""Writes the C source of the extension module allot._allot from the public headers.

usage: build_ffi.py OUT.c HEADER...

The declarations are those of include/allot: comments, preprocessor lines and attributes are
removed, and cffi reads the rest. In API mode the C compiler checks every type, so a header that
changes cannot leave a binding with another layout.
"""

import re
import sys

from cffi import FFI

CALLBACKS = """
extern "Python" bool allot_py_watch(void *user, const struct allot_progress *p);
extern "Python" void allot_py_print(void *user, const char *text, size_t n);
extern "Python" bool allot_py_cancelled(void *user);
void free(void *p);
"""


def declarations(text: str) -> str:
    """The declarations of a header as cffi's parser takes them."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^#ifdef __cplusplus\n.*?^#endif\n", "", text, flags=re.S | re.M)
    text = re.sub(r"^[ \t]*#(?:.*\\\n)*.*\n", "", text, flags=re.M)
    text = re.sub(r"__attribute__\(\(.*?\)\)\)?(?=;)", "", text, flags=re.S)
    return text


def main(out: str, headers: list) -> None:
    ffi = FFI()
    for path in headers:
        with open(path, encoding="utf-8") as f:
            ffi.cdef(declarations(f.read()))
    ffi.cdef(CALLBACKS)
    ffi.set_source("allot._allot", '#include <stdlib.h>\n#include "allot/workload.h"\n')
    ffi.emit_c_code(out)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
