# Where presets are found when $ALLOT_MACHINES does not say: the installed data folder, then
# the source tree.
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/src/machine/machine_load.c PROPERTIES
  COMPILE_DEFINITIONS "MACHINES_INSTALLED=\"${CMAKE_INSTALL_PREFIX}/share/allot/machines\";MACHINES_SOURCE=\"${CMAKE_CURRENT_SOURCE_DIR}/machines\"")
find_package(Threads REQUIRED)
target_link_libraries(allot_machine PUBLIC Threads::Threads)
install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/machines/ DESTINATION share/allot/machines FILES_MATCHING PATTERN "*.yaml")
