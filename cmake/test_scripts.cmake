# Tests that are Python scripts. What one needs of the machine stands in lines `# CTEST PROPERTY VALUE` at its top
# (docs/tests.md, "Side by side").
set(HEAPTAP_SCRIPT_PROPERTIES PROCESSORS RUN_SERIAL RESOURCE_LOCK TIMEOUT COST)

# script_test(NAME SCRIPT [ARGUMENTS WORD…] [ENVIRONMENT VAR=VALUE…] PROPERTIES NAME VALUE…): the TIMEOUT among the properties, as the
# others, holds where the script names none. The script knows it, and fails by itself a minute earlier, and says where it was.
function(script_test name script)
  cmake_parse_arguments(PARSE_ARGV 2 given "" "" "ARGUMENTS;ENVIRONMENT;PROPERTIES")
  add_test(NAME ${name} COMMAND Python3::Interpreter ${script} ${given_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES ${given_PROPERTIES})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
  file(STRINGS ${script} lines REGEX "^# CTEST ")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^# CTEST " "" line "${line}")
    separate_arguments(words UNIX_COMMAND "${line}")
    list(POP_FRONT words property)
    if(NOT property IN_LIST HEAPTAP_SCRIPT_PROPERTIES)
      message(FATAL_ERROR "${script}: '# CTEST ${property}' is none of ${HEAPTAP_SCRIPT_PROPERTIES}")
    endif()
    if(property STREQUAL "RUN_SERIAL")
      set(words TRUE)
    endif()
    set_property(TEST ${name} PROPERTY ${property} ${words})
  endforeach()
  get_property(limit_s TEST ${name} PROPERTY TIMEOUT)
  math(EXPR limit_s "${limit_s} - 60")
  set_property(TEST ${name} PROPERTY ENVIRONMENT ${given_ENVIRONMENT} HEAPTAP_TEST_LIMIT_S=${limit_s}
               PYTHONPYCACHEPREFIX=${PROJECT_BINARY_DIR}/pycache)
  # Where it is set, each start would compile the standard library, which isn't looked for elsewhere then.
  set_property(TEST ${name} PROPERTY ENVIRONMENT_MODIFICATION PYTHONDONTWRITEBYTECODE=unset:)
endfunction()
