/* core_marks.h: what the name of a mark ends with: an empty file beside the record, by which
 * a process tells `allot exec` what it could not write, as a full disk takes its name still. */
#ifndef ALLOT_CUDA_CORE_MARKS_H
#define ALLOT_CUDA_CORE_MARKS_H

#define RECORD_LOST ".lost" /* a trace or timeline */
#define RECORD_CUT ".cut"   /* a part of the record */

#endif
