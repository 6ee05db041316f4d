# Tests that run a program under heaptap, for CMake 3.13 and newer.
#
# heaptap_add_leak_test(NAME <test> COMMAND <program> [<argument>...]
#                       [SUPPRESSIONS <file>...] [SANITY] [PTRACE]
#                       [WORKING_DIRECTORY <directory>] [OPTIONS <option of heaptap run>...])
#
# The program is a target that is there already, or a path. The test fails where the program fails (with the program's own exit
# status), where something is definitely lost or, with SANITY, where a release is invalid (exit status 99), and where it isn't known
# whether something is lost (3). It never skips: a test that can't be judged has not passed. The trace is kept as
# heaptap/<test>.htap in the binary directory (with / : + in the test's name it is another one: `ctest -V` shows it), until the test runs again; with OPTIONS -f
# those of children stand beside it (<test>.1.htap, …). A COMMAND that is a script or starts the program by
# another one needs OPTIONS -f: it isn't known of children that aren't recorded whether they leak.
#
# The program heaptap is HEAPTAP_EXECUTABLE; by default the one that is installed with this file, or else that of the PATH.

get_filename_component(_heaptap_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_program(HEAPTAP_EXECUTABLE heaptap HINTS "${_heaptap_prefix}/bin" DOC "The program heaptap, for heaptap_add_leak_test")
unset(_heaptap_prefix)

# <variable>: the name of the test's trace. Other tests' names never give the same file.
function(_heaptap_trace_file variable name)
  string(REGEX REPLACE "[^A-Za-z0-9_.-]" "_" file "${name}")
  if(NOT file STREQUAL name)
    string(SHA256 hash "${name}")
    string(SUBSTRING "${hash}" 0 8 hash)
    string(APPEND file "-${hash}")
  endif()
  if(CMAKE_CURRENT_BINARY_DIR MATCHES "%")
    message(FATAL_ERROR "heaptap_add_leak_test: '${CMAKE_CURRENT_BINARY_DIR}' has a percent sign, which means something else in names of traces")
  endif()
  set(${variable} "${CMAKE_CURRENT_BINARY_DIR}/heaptap/${file}.htap" PARENT_SCOPE)
endfunction()

function(heaptap_add_leak_test)
  cmake_parse_arguments(PARSE_ARGV 0 given "SANITY;PTRACE" "NAME;WORKING_DIRECTORY" "COMMAND;SUPPRESSIONS;OPTIONS")
  if(NOT given_NAME OR NOT given_COMMAND)
    message(FATAL_ERROR "heaptap_add_leak_test: NAME and COMMAND are needed")
  endif()
  # CMake loses tests of such names, unless the project's policy CMP0110 is NEW.
  if(given_NAME MATCHES "[^A-Za-z0-9_./:+-]")
    message(FATAL_ERROR "heaptap_add_leak_test: '${given_NAME}': names of tests have letters, digits and _ . / : + -")
  endif()
  if(given_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "heaptap_add_leak_test: unknown arguments: ${given_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT HEAPTAP_EXECUTABLE)
    message(FATAL_ERROR "heaptap_add_leak_test: there is no program heaptap; install it, or set HEAPTAP_EXECUTABLE to its path")
  endif()
  if("--no-leak-scan" IN_LIST given_OPTIONS)
    message(FATAL_ERROR "heaptap_add_leak_test: with --no-leak-scan nothing is known of leaks, and nothing would be judged")
  endif()

  _heaptap_trace_file(trace "${given_NAME}")
  file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/heaptap")
  set(options --error-exitcode 99 --force --color never -o "${trace}")
  if(given_SANITY)
    list(APPEND options --sanity)
  endif()
  if(given_PTRACE)
    list(APPEND options --via ptrace)
  endif()
  foreach(file IN LISTS given_SUPPRESSIONS)
    get_filename_component(file "${file}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
    list(APPEND options --suppressions "${file}")
  endforeach()

  list(GET given_COMMAND 0 program)
  if(TARGET "${program}")
    list(REMOVE_AT given_COMMAND 0)
    list(INSERT given_COMMAND 0 "$<TARGET_FILE:${program}>")
  endif()
  set(place)
  if(given_WORKING_DIRECTORY)
    set(place WORKING_DIRECTORY "${given_WORKING_DIRECTORY}")
  endif()
  # --leak-scan: a configuration file may have switched it off.
  add_test(NAME "${given_NAME}" COMMAND "${HEAPTAP_EXECUTABLE}" run ${options} ${given_OPTIONS} --leak-scan -- ${given_COMMAND} ${place})
  set_tests_properties("${given_NAME}" PROPERTIES LABELS heaptap)
endfunction()
