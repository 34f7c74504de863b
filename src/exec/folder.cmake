# lanes_variant.c is compiled once per instruction-set variant; lanes.c chooses at run time. Builds that
# look for errors have the plain one only, unless told otherwise: the same source, a third of the time.
set(all_variants ON)
if(ALLOT_SANITIZE OR ALLOT_TSAN OR ALLOT_FUZZ)
  set(all_variants OFF)
endif()
option(ALLOT_VARIANTS "Lane functions for AVX2 and AVX-512 too, chosen at run time" ${all_variants})
set(lanes_variants plain)
set(lanes_flags_plain)
if(ALLOT_VARIANTS AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  list(APPEND lanes_variants avx2 avx512)
  set(lanes_flags_avx2 -mavx2 -mfma -mbmi -mbmi2 -mf16c)
  set(lanes_flags_avx512 ${lanes_flags_avx2} -mavx512f -mavx512bw -mavx512vl -mavx512dq)
  set_source_files_properties(src/exec/lanes/lanes.c PROPERTIES COMPILE_DEFINITIONS LANES_X86)
endif()
# Quick handlers end in calls that are jumps with optimisation only, and leave vector
# registers dirty until the last (threaded.h).
set(quick_flags)
if(CMAKE_BUILD_TYPE MATCHES "^Rel" AND NOT ALLOT_SANITIZE AND NOT ALLOT_FUZZ)
  set(quick_flags -DQUICK_CHAIN)
endif()
# One file for one instruction set: exec_object(LIBRARY SOURCE VARIANT OPTION...)
function(exec_object lib source v)
  add_library(${lib} OBJECT ${source})
  target_include_directories(${lib} PRIVATE src include)
  if(ALLOT_FUZZ) # minutes to compile with coverage and sanitizers, which ./x test asan has
    target_compile_options(${lib} PRIVATE -O1 -fno-sanitize=all)
  elseif(ALLOT_SANITIZE AND NOT v STREQUAL plain) # one variant instrumented, and used, is enough
    target_compile_options(${lib} PRIVATE -fno-sanitize=all)
  elseif(ALLOT_VARIANTS AND NOT ALLOT_SANITIZE) # the vectoriser is the point, whatever the build type
    target_compile_options(${lib} PRIVATE -O3)
  endif()
  if(CMAKE_C_COMPILER_ID MATCHES Clang) # some loops it cannot vectorise; it need not say so
    target_compile_options(${lib} PRIVATE -Wno-pass-failed)
  endif()
  # No floating-point traps are ever enabled; saying so lets conditionals become blends.
  target_compile_options(${lib} PRIVATE -fno-trapping-math ${lanes_flags_${v}} ${ARGN})
  target_sources(allot_exec PRIVATE $<TARGET_OBJECTS:${lib}>)
endfunction()
# Compile time of lanes_variant.c, which was a third of the whole: the plain variant, where it is for old
# processors only, is optimised less, and has the rare functions of all; quick forms alone gain by AVX-512.
set(lanes_plain_flags -DLANES_RARE)
set(lanes_plain_quick)
set(lanes_avx2_flags -DLANES_ALSO=avx512)
list(LENGTH lanes_variants n)
if(n GREATER 1)
  list(APPEND lanes_plain_flags -O1)
  set(lanes_plain_quick -O1 -foptimize-sibling-calls)
endif()
foreach(v IN LISTS lanes_variants)
  set(dirty)
  if(NOT v STREQUAL plain)
    set(dirty -mno-vzeroupper)
  endif()
  if(NOT v STREQUAL avx512)
    exec_object(lanes_${v} src/exec/lanes/lanes_variant.c ${v} -DLANES_VARIANT=${v} ${lanes_${v}_flags})
  endif()
  exec_object(quick_lanes_${v} src/exec/lanes/lanes_variant.c ${v} -DLANES_VARIANT=${v} -DLANES_QUICK
    ${quick_flags} ${dirty} ${lanes_${v}_quick})
  exec_object(quick_fast_${v} src/exec/threaded/threaded_fast.c ${v} -DEXEC_VARIANT=${v} ${quick_flags} ${dirty})
  if(NOT v STREQUAL plain) # the plain variant of exec_fast.c is compiled with the rest
    add_library(exec_fast_${v} OBJECT src/exec/ops/exec_fast.c)
    target_include_directories(exec_fast_${v} PRIVATE src include)
    target_compile_definitions(exec_fast_${v} PRIVATE EXEC_VARIANT=${v})
    target_compile_options(exec_fast_${v} PRIVATE ${lanes_flags_${v}})
    target_sources(allot_exec PRIVATE $<TARGET_OBJECTS:exec_fast_${v}>)
    set_source_files_properties(src/exec/ops/exec_mem.c src/exec/threaded/threaded.c src/exec/ops/exec_wgmma.c
      PROPERTIES COMPILE_DEFINITIONS EXEC_X86)
  endif()
  if(v STREQUAL avx2) # likewise
    exec_object(exec_wgmma_${v} src/exec/ops/exec_wgmma_sums.c ${v} -DEXEC_VARIANT=${v})
  endif()
endforeach()

# Its functions that take vectors are inlined: no ABI is concerned.
set_source_files_properties(src/exec/ops/exec_wgmma_sums.c PROPERTIES COMPILE_OPTIONS -Wno-psabi)

# The tests of the lane functions compare with MPFR where it is installed.
find_library(MPFR mpfr)
find_library(GMP gmp)
if(MPFR AND GMP)
  link_libraries(-Wl,--push-state,--as-needed ${MPFR} ${GMP} -Wl,--pop-state)
endif()
