# SQLite for the store, libyaml for places in files.
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
# Runs are of workloads, which stand above (they use the whole library): CMake knows to name
# archives that need each other as often as it takes.
target_link_libraries(allot_experiments PUBLIC PkgConfig::SQLITE PkgConfig::YAML allot_workloads)

# A result is reused only while the sources it depends on are the same: model_id.h holds a hash
# of the simulator's, and one for each workload.
set(model_id ${CMAKE_CURRENT_BINARY_DIR}/gen/experiments/model_id.h)
file(GLOB_RECURSE model_sources CONFIGURE_DEPENDS src/base/*.[ch] src/ptx/*.[ch] src/ptx/*.def src/ptx/*.re
  src/analysis/*.[ch] src/passes/*.[ch] src/passes/*.def src/machine/*.[ch] src/machine/*.def
  src/stats/*.[ch] src/stats/*.def src/exec/*.[ch] src/timing/*.[ch] src/timing/*.def
  src/energy/*.[ch] src/cta/*.[ch] src/runtime/*.[ch] workloads/support.c)
file(GLOB_RECURSE workload_sources CONFIGURE_DEPENDS workloads/*/*.c workloads/*/*.h)
add_custom_command(OUTPUT ${model_id}
  COMMAND ${CMAKE_COMMAND} -DOUT=${model_id} -DSOURCE=${CMAKE_CURRENT_SOURCE_DIR}
          -P ${CMAKE_CURRENT_SOURCE_DIR}/src/experiments/model_id.cmake
  DEPENDS ${model_sources} ${workload_sources} ${CMAKE_CURRENT_SOURCE_DIR}/src/experiments/model_id.cmake
  COMMENT "hash of the model's sources" VERBATIM)
target_sources(allot_experiments PRIVATE ${model_id})
