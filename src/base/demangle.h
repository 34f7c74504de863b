/* demangle.h: C++ names as in the source, for people. Files for scripts keep the names of
 * the PTX. */
#ifndef ALLOT_BASE_DEMANGLE_H
#define ALLOT_BASE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/* The name as in the source, without a leading "void "; the name itself where it is no
 * mangled one or C++'s own library is not at hand. malloc'd. */
char *demangle(const char *name);
/* The text with every mangled name in it so, but in lines that begin with blanks: those are
 * quoted from a file. malloc'd. */
char *demangle_text(const char *text);
/* "transform" of the demangled "a::b<int>::transform<float>(float*)": behind the last "::"
 * that is not within <>, up to its own < or (. malloc'd. */
char *demangle_bare(const char *plain);
/* Whether a word means this kernel: its name as in the PTX, or as in the source with its
 * parameters, without, or bare. */
bool demangle_means(const char *name, const char *word);
/* Shortens s in place to at most `width` characters: "beginning...end". */
void demangle_cut(char *s, size_t width);
/* demangle, of at most `width` characters; 0: whole. malloc'd. */
char *demangle_within(const char *name, size_t width);

enum { DEMANGLE_COLUMN = 48 }; /* width of a kernel's name in a column of a table */

#endif
