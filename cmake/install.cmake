# What `cmake --install` puts where. Nothing installed knows its prefix: the command and the
# library find their data, pkg-config and CMake their files, relative to themselves.
set(data ${CMAKE_INSTALL_DATADIR}/allot)

# The command's objects that the public interface needs, as one object: its private names
# become local, so that liballot.a can be linked with anything. It is optimised as a whole.
set(library_modules "libcyaml jansson libelf liblz4 libzstd")
set(library_objects ${CMAKE_CURRENT_BINARY_DIR}/liballot-all.o)
set(library_local ${CMAKE_CURRENT_BINARY_DIR}/liballot-local.o)
set(archives allot_workloads ${library_folders})
list(TRANSFORM archives REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE archive_files)
set(one_object ${whole})
if(whole MATCHES "-flto=")
  list(APPEND one_object -O2 -flinker-output=nolto-rel)
endif()
add_custom_command(OUTPUT ${library_objects} ${library_local}
  COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -fPIC ${one_object} -Wl,--whole-archive ${archive_files}
          -Wl,--no-whole-archive -o ${library_objects}
  COMMAND ${CMAKE_OBJCOPY} --remove-section=.gnu.lto_* ${library_objects} # what ALLOT_LTO=OFF leaves
  COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${library_objects} ${library_local}
  DEPENDS ${archives} COMMENT "one object of liballot" VERBATIM)

configure_file(cmake/liballot.map liballot.map @ONLY)
add_library(liballot SHARED ${library_objects})
add_library(liballot_static STATIC ${library_local})
set_source_files_properties(${library_objects} ${library_local} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
set_target_properties(liballot PROPERTIES OUTPUT_NAME allot EXPORT_NAME allot LINKER_LANGUAGE C
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  LINK_DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/liballot.map)
set_target_properties(liballot_static PROPERTIES OUTPUT_NAME allot EXPORT_NAME allot_static LINKER_LANGUAGE C)
target_link_options(liballot PRIVATE -Wl,--version-script=${CMAKE_CURRENT_BINARY_DIR}/liballot.map)
if(NOT ALLOT_SANITIZE AND NOT ALLOT_TSAN AND NOT ALLOT_FUZZ) # the sanitizers' own names are the program's
  target_link_options(liballot PRIVATE -Wl,--no-undefined)
endif()
target_link_libraries(liballot PRIVATE PkgConfig::CYAML PkgConfig::JANSSON PkgConfig::ELF PkgConfig::LZ4
  PkgConfig::ZSTD ${metis} Threads::Threads ${CMAKE_DL_LIBS} m)
target_link_libraries(liballot_static INTERFACE $<INSTALL_INTERFACE:PkgConfig::ALLOT_BELOW>
  ${metis_name} Threads::Threads ${CMAKE_DL_LIBS} m)
foreach(t liballot liballot_static)
  target_include_directories(${t} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()

install(TARGETS allot)
if(ALLOT_PYTHON) # a wheel has no symbolic links: one library, under the name that programs load
  set_target_properties(liballot PROPERTIES VERSION ${PROJECT_VERSION_MAJOR})
  install(TARGETS liballot EXPORT allotTargets LIBRARY NAMELINK_SKIP)
else()
  install(TARGETS liballot EXPORT allotTargets)
endif()
install(TARGETS liballot_static EXPORT allotStaticTargets)
install(DIRECTORY include/allot TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(DIRECTORY machines papers DESTINATION ${data})
install(DIRECTORY workloads/micro workloads/include DESTINATION ${data}/workloads)
install(FILES README.md LICENSE TYPE DOC)

# For pkg-config and for CMake.
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/allot)
file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" to_prefix "${to_prefix}")
configure_file(cmake/allot.pc.in allot.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/allot.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/allotConfig.cmake.in allotConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(allotConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/allotConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/allotConfigVersion.cmake
  DESTINATION ${package})
install(EXPORT allotTargets NAMESPACE allot:: DESTINATION ${package})
install(EXPORT allotStaticTargets NAMESPACE allot:: DESTINATION ${package})

# Manual pages and completions: written by the command itself when it is installed.
file(STRINGS src/cli/commands.def cmds REGEX "^CMD")
list(TRANSFORM cmds REPLACE "CMD\\(([a-z]+),.*" "\\1")
set(man ${CMAKE_CURRENT_BINARY_DIR}/man)
set(completions ${CMAKE_CURRENT_BINARY_DIR}/completions)
install(CODE "
  file(MAKE_DIRECTORY ${man} ${completions})
  execute_process(COMMAND $<TARGET_FILE:allot> --man OUTPUT_FILE ${man}/allot.1 COMMAND_ERROR_IS_FATAL ANY)
  foreach(c ${cmds})
    execute_process(COMMAND $<TARGET_FILE:allot> \${c} --man OUTPUT_FILE ${man}/allot-\${c}.1 COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  foreach(shell bash zsh fish)
    execute_process(COMMAND $<TARGET_FILE:allot> --completion \${shell} OUTPUT_FILE ${completions}/allot.\${shell}
      COMMAND_ERROR_IS_FATAL ANY)
  endforeach()")
install(DIRECTORY ${man}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${completions}/allot.bash RENAME allot DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${completions}/allot.zsh RENAME _allot DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${completions}/allot.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# `cpack` in the build folder makes a Debian package.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_CONTACT "allot maintainers <allot@localhost>")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "gnuplot-nox, libjs-chart.js")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "clang, pkg-config, libcyaml-dev, libjansson-dev, libelf-dev, liblz4-dev, libzstd-dev, libmetis-dev")
include(CPack)
