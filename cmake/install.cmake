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
# By their names, not as Requires.private: pkg-config wants the files of those even for the shared library.
set(library_flags ${CYAML_STATIC_LIBRARIES} ${JANSSON_STATIC_LIBRARIES} ${ELF_STATIC_LIBRARIES}
    ${LZ4_STATIC_LIBRARIES} ${ZSTD_STATIC_LIBRARIES})
list(REMOVE_DUPLICATES library_flags)
list(TRANSFORM library_flags PREPEND "-l")
string(REPLACE ";" " " library_flags "${library_flags}")
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
find_program(GZIP gzip)
if(GZIP) # man reads them so, and Debian has them so
  install(CODE "execute_process(COMMAND sh -c \"rm -f ${man}/*.gz && ${GZIP} -9n ${man}/*.1\" COMMAND_ERROR_IS_FATAL ANY)")
endif()
install(DIRECTORY ${man}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${completions}/allot.bash RENAME allot DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${completions}/allot.zsh RENAME _allot DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${completions}/allot.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# `cpack` in the build folder makes a Debian package; configured with -DCMAKE_INSTALL_PREFIX=/usr (./x package) its
# libraries lie where Debian's do. tests/e2e/package.sh holds it to lintian.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PACKAGE_CONTACT "The allot authors <allot@allot.invalid>" CACHE STRING "Maintainer of the package")
set(CPACK_PACKAGE_DESCRIPTION "allot reads PTX, transforms it by compiler passes, and runs it on a
functional executor and a cycle-level GPU simulator. Policies that share
registers, scratchpad and cache between thread blocks are compared side by
side. CUDA programs run unmodified on the simulated GPU: neither a GPU nor
the CUDA toolkit is needed.
The package holds the command, the library and what programs are compiled with.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "gnuplot-nox, libjs-chart.js")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "clang, pkg-config, libcyaml-dev, libjansson-dev, libelf-dev, liblz4-dev, libzstd-dev, libmetis-dev")
# Debian's own files: copyright, changelog, what lintian need not say, and that ldconfig is to run.
set(debian ${CMAKE_CURRENT_BINARY_DIR}/debian)
file(READ LICENSE license_text)
string(REGEX REPLACE "^.*the allot authors\n+" "" license_text "${license_text}")
string(STRIP "${license_text}" license_text)
string(REGEX REPLACE "\n\n" "\n.\n" license_text "${license_text}")
string(REGEX REPLACE "\n" "\n " license_text " ${license_text}")
configure_file(cmake/copyright.in ${debian}/copyright @ONLY)
file(CONFIGURE OUTPUT ${debian}/changelog @ONLY CONTENT
"allot (@PROJECT_VERSION@) unstable; urgency=medium

  * CHANGELOG.md says what has changed.

 -- @CPACK_PACKAGE_CONTACT@  Thu, 01 Jan 2026 00:00:00 +0000
")
file(WRITE ${debian}/triggers "activate-noawait ldconfig\n")
file(WRITE ${debian}/shlibs "liballot ${PROJECT_VERSION_MAJOR} allot (>= ${PROJECT_VERSION})\n") # not the stand-ins
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${debian}/triggers ${debian}/shlibs)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
if(GZIP)
  install(CODE "execute_process(COMMAND sh -c \"${GZIP} -9nc ${debian}/changelog >${debian}/changelog.gz && ${GZIP} -9nc ${CMAKE_CURRENT_SOURCE_DIR}/CHANGELOG.md >${debian}/CHANGELOG.md.gz\" COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES ${debian}/changelog.gz ${debian}/CHANGELOG.md.gz TYPE DOC)
endif()
install(FILES ${debian}/copyright TYPE DOC)
install(FILES cmake/lintian-overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME allot)
include(CPack)
