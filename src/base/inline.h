/* inline.h: what the compiler cannot know of functions. ALWAYS_INLINE: constants among
 * its arguments must be seen inside. NOINLINE: large, and its caller's loop is hot
 * without it (the link-time optimiser would put it there, and the loop's variables on the
 * stack). */
#ifndef ALLOT_BASE_INLINE_H
#define ALLOT_BASE_INLINE_H

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))

#endif
