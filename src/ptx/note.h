/* note.h: notes that passes leave on a function for whoever uses it later: other passes,
 * the launch plan, a later run that reads the printed text. In the text a note is a pragma
 * of the function, .pragma "allot KEY VALUE"; ptxas passes over it with a warning. */
#ifndef ALLOT_PTX_NOTE_H
#define ALLOT_PTX_NOTE_H

#include "ptx/ir.h"

/* The note's value, malloc'd; NULL: there is none. */
char *ptx_note(const struct ptx_func *f, const char *key);
/* Sets it, in place of an earlier one. Key: a word; value: printable, no " and no \. */
void ptx_set_note(struct ptx_func *f, const char *key, const char *value);

#endif
