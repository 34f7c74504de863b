# lanes_variant.c is compiled once per instruction-set variant; lanes.c chooses at run time.
set(lanes_variants plain)
set(lanes_flags_plain)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  list(APPEND lanes_variants avx2 avx512)
  set(lanes_flags_avx2 -mavx2 -mfma -mbmi -mbmi2 -mf16c)
  set(lanes_flags_avx512 ${lanes_flags_avx2} -mavx512f -mavx512bw -mavx512vl -mavx512dq)
  set_source_files_properties(src/exec/lanes.c PROPERTIES COMPILE_DEFINITIONS LANES_X86)
endif()
foreach(v IN LISTS lanes_variants)
  add_library(lanes_${v} OBJECT src/exec/lanes_variant.c)
  target_include_directories(lanes_${v} PRIVATE src include)
  target_compile_definitions(lanes_${v} PRIVATE LANES_VARIANT=${v})
  if(ALLOT_FUZZ) # minutes to compile with coverage and sanitizers, which ./x test asan has
    target_compile_options(lanes_${v} PRIVATE -O1 -fno-sanitize=all)
  elseif(NOT ALLOT_SANITIZE) # the vectoriser is the point, whatever the build type
    target_compile_options(lanes_${v} PRIVATE -O3)
  endif()
  if(CMAKE_C_COMPILER_ID MATCHES Clang) # some loops it cannot vectorise; it need not say so
    target_compile_options(lanes_${v} PRIVATE -Wno-pass-failed)
  endif()
  # No floating-point traps are ever enabled; saying so lets conditionals become blends.
  target_compile_options(lanes_${v} PRIVATE -fno-trapping-math ${lanes_flags_${v}})
  target_sources(allot_exec PRIVATE $<TARGET_OBJECTS:lanes_${v}>)
  if(NOT v STREQUAL plain) # the plain variant of exec_fast.c is compiled with the rest
    add_library(exec_fast_${v} OBJECT src/exec/exec_fast.c)
    target_include_directories(exec_fast_${v} PRIVATE src include)
    target_compile_definitions(exec_fast_${v} PRIVATE EXEC_VARIANT=${v})
    target_compile_options(exec_fast_${v} PRIVATE ${lanes_flags_${v}})
    target_sources(allot_exec PRIVATE $<TARGET_OBJECTS:exec_fast_${v}>)
    set_source_files_properties(src/exec/exec_mem.c PROPERTIES COMPILE_DEFINITIONS EXEC_X86)
  endif()
endforeach()

# The tests of the lane functions compare with MPFR where it is installed.
find_library(MPFR mpfr)
find_library(GMP gmp)
if(MPFR AND GMP)
  link_libraries(-Wl,--push-state,--as-needed ${MPFR} ${GMP} -Wl,--pop-state)
endif()
