/* inline.h: for small functions that must become part of their caller, so that constants
 * among their arguments are known to the compiler. */
#ifndef ALLOT_BASE_INLINE_H
#define ALLOT_BASE_INLINE_H

#define ALWAYS_INLINE static inline __attribute__((always_inline))

#endif
