# SQLite for the store, libyaml for places in files.
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
# Runs are of workloads, which stand above (they use the whole library): CMake knows to name
# archives that need each other as often as it takes.
target_link_libraries(allot_experiments PUBLIC PkgConfig::SQLITE PkgConfig::YAML allot_workloads)

# A result is reused only while the sources it depends on are the same: model_id.h holds a hash
# of the simulator's, and one for each workload.
include(${CMAKE_CURRENT_SOURCE_DIR}/src/experiments/model_sources.cmake)
set(model_id ${CMAKE_CURRENT_BINARY_DIR}/gen/experiments/model_id.h)
file(GLOB_RECURSE model_files CONFIGURE_DEPENDS ${MODEL})
file(GLOB workload_files CONFIGURE_DEPENDS ${WORKLOADS} ${VALUES})
add_custom_command(OUTPUT ${model_id}
  COMMAND ${CMAKE_COMMAND} -DOUT=${model_id} -DSOURCE=${CMAKE_CURRENT_SOURCE_DIR}
          -P ${CMAKE_CURRENT_SOURCE_DIR}/src/experiments/model_id.cmake
  DEPENDS ${model_files} ${workload_files} ${CMAKE_CURRENT_SOURCE_DIR}/src/experiments/model_id.cmake
          ${CMAKE_CURRENT_SOURCE_DIR}/src/experiments/model_sources.cmake
  COMMENT "hash of the model's sources" VERBATIM)
target_sources(allot_experiments PRIVATE ${model_id})
