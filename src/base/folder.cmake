# Where machines/, papers/, workloads/ are found when neither $ALLOT_DATA nor the place of the
# program says: the source tree, the prefix.
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/src/base/data.c PROPERTIES
  COMPILE_DEFINITIONS "DATA_INSTALLED=\"${CMAKE_INSTALL_PREFIX}/share/allot\";DATA_SOURCE=\"${CMAKE_CURRENT_SOURCE_DIR}\"")
target_link_libraries(allot_base PUBLIC ${CMAKE_DL_LIBS})
