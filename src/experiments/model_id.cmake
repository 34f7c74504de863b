# model_id.cmake: writes OUT, a header with hashes of the sources under SOURCE that results depend
# on. Comments count too: a hash is cheap, a wrong reuse is not.
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE files RELATIVE ${SOURCE}
  ${SOURCE}/src/base/*.[ch] ${SOURCE}/src/ptx/*.[ch] ${SOURCE}/src/ptx/*.def ${SOURCE}/src/ptx/*.re
  ${SOURCE}/src/analysis/*.[ch] ${SOURCE}/src/passes/*.[ch] ${SOURCE}/src/passes/*.def
  ${SOURCE}/src/machine/*.[ch] ${SOURCE}/src/machine/*.def ${SOURCE}/src/stats/*.[ch]
  ${SOURCE}/src/stats/*.def ${SOURCE}/src/exec/*.[ch] ${SOURCE}/src/timing/*.[ch]
  ${SOURCE}/src/timing/*.def ${SOURCE}/src/energy/*.[ch] ${SOURCE}/src/cta/*.[ch]
  ${SOURCE}/src/runtime/*.[ch] ${SOURCE}/workloads/support.c ${SOURCE}/workloads/circuit.c
  ${SOURCE}/workloads/mesh.c ${SOURCE}/workloads/mesh_app.c ${SOURCE}/workloads/reorder.c)

# Hash of a list of files (relative to SOURCE), names included.
function(hash_files out)
  set(all)
  foreach(f IN LISTS ARGN)
    file(SHA256 ${SOURCE}/${f} h)
    string(APPEND all "${f} ${h}\n")
  endforeach()
  string(SHA256 h "${all}")
  string(SUBSTRING ${h} 0 12 h)
  set(${out} ${h} PARENT_SCOPE)
endfunction()

list(SORT files)
hash_files(model ${files})
set(rows)
file(GLOB folders RELATIVE ${SOURCE}/workloads ${SOURCE}/workloads/*/workload.c)
list(SORT folders)
foreach(w IN LISTS folders)
  get_filename_component(name ${w} DIRECTORY)
  # Its own sources, and what they include from other folders.
  file(GLOB pending RELATIVE ${SOURCE} ${SOURCE}/workloads/${name}/*.[ch])
  set(seen)
  while(pending)
    list(POP_FRONT pending f)
    list(APPEND seen ${f})
    get_filename_component(dir ${f} DIRECTORY)
    file(STRINGS ${SOURCE}/${f} includes REGEX "^[ \t]*#[ \t]*include[ \t]*\"")
    foreach(line IN LISTS includes)
      string(REGEX REPLACE ".*\"([^\"]+)\".*" "\\1" target "${line}")
      foreach(base ${dir} workloads)
        get_filename_component(path ${SOURCE}/${base}/${target} ABSOLUTE)
        if(EXISTS ${path})
          file(RELATIVE_PATH path ${SOURCE} ${path})
          if(NOT path IN_LIST seen AND NOT path IN_LIST pending)
            list(APPEND pending ${path})
          endif()
          break()
        endif()
      endforeach()
    endforeach()
  endwhile()
  list(SORT seen)
  hash_files(h ${seen})
  string(APPEND rows " \\\n    WORKLOAD_ID(\"${name}\", \"${h}\")")
endforeach()
set(text "/* Written by src/experiments/model_id.cmake. */
#define RUN_MODEL \"${model}\"
#define RUN_WORKLOADS${rows}
")
file(WRITE ${OUT} "${text}")
