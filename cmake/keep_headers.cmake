# SPDX-License-Identifier: Apache-2.0
#
# pip builds in an environment of its own, made anew each time, with the wheels that [build-system] requires. Their
# paths on the compiler's command lines would have everything compiled again by the next `pip install`. So their headers
# are copied to the build folder, which stays, and what is unchanged there is left alone.

# keep_headers(FOLDER): from then on FOLDER has what this project reads of those wheels, and nothing else. They are
# found by CMAKE_PREFIX_PATH as it comes from scikit-build-core, to which nothing may have been added yet.
function(keep_headers folder)
  # scikit-build-core puts several folders with packages there, the one that it is in itself last. There are the wheels
  # that were asked for; the environment that is installed into may have others.
  list(GET CMAKE_PREFIX_PATH -1 wheels)
  message(STATUS "Headers that wheels have: ${wheels}")
  file(GLOB cuda RELATIVE "${wheels}" "${wheels}/nvidia/cu13/include/*.h" "${wheels}/nvidia/cu13/include/crt/*.h*")
  file(GLOB_RECURSE others RELATIVE "${wheels}"
       "${wheels}/cmeel.prefix/include/eigen3/*" "${wheels}/cmeel.prefix/share/eigen3/*"
       "${wheels}/pybind11/include/*" "${wheels}/pybind11/share/cmake/*")
  file(GLOB_RECURSE kept RELATIVE "${folder}" "${folder}/*")

  foreach(file IN LISTS kept)
    if(NOT file IN_LIST cuda AND NOT file IN_LIST others)
      file(REMOVE "${folder}/${file}")
    endif()
  endforeach()
  foreach(file IN LISTS cuda others)
    get_filename_component(parent "${folder}/${file}" DIRECTORY)
    file(MAKE_DIRECTORY "${parent}")
    file(COPY_FILE "${wheels}/${file}" "${folder}/${file}" ONLY_IF_DIFFERENT)
  endforeach()
endfunction()
