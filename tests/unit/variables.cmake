# One library with variables of all kinds, in the states in which symbols can come.
set(source ${CMAKE_CURRENT_LIST_DIR}/fixtures/variables_fixture.cc)
set(folder ${CMAKE_CURRENT_BINARY_DIR}/variables_fixtures)
file(MAKE_DIRECTORY ${folder})
set(outputs)

# variables_fixture(NAME COMPILER FLAGS…)
function(variables_fixture name compiler)
  add_custom_command(
    OUTPUT ${folder}/${name}
    COMMAND ${compiler} -shared -fPIC -std=c++20 -fno-sanitize=all ${ARGN} ${source} -o ${folder}/${name}
    DEPENDS ${source}
    VERBATIM)
  set(outputs ${outputs} ${folder}/${name} PARENT_SCOPE)
endfunction()

variables_fixture(full.so ${CMAKE_CXX_COMPILER} -g -O2)
variables_fixture(dwarf4.so ${CMAKE_CXX_COMPILER} -gdwarf-4 -O2)
variables_fixture(lto.so ${CMAKE_CXX_COMPILER} -g -O2 -flto)
variables_fixture(unoptimised.so ${CMAKE_CXX_COMPILER} -g -O0)
variables_fixture(named.so ${CMAKE_CXX_COMPILER} -O2)
variables_fixture(stripped.so ${CMAKE_CXX_COMPILER} -O2 -s)
find_program(variables_clang NAMES clang++-19 clang++)
if(variables_clang)
  variables_fixture(clang.so ${variables_clang} -g -O2)
endif()

set(c_source ${CMAKE_CURRENT_LIST_DIR}/fixtures/variables_fixture.c)
add_custom_command(
  OUTPUT ${folder}/c.so
  COMMAND ${CMAKE_C_COMPILER} -shared -fPIC -fno-sanitize=all -g -O2 ${c_source} -o ${folder}/c.so
  DEPENDS ${c_source}
  VERBATIM)
list(APPEND outputs ${folder}/c.so)

add_custom_target(variables_fixtures DEPENDS ${outputs})
add_executable(variables_test ${CMAKE_CURRENT_LIST_DIR}/variables_test.cc)
add_dependencies(variables_test variables_fixtures)
target_link_libraries(variables_test PRIVATE heaptap_symbols heaptap_warnings GTest::gtest GTest::gtest_main)
target_compile_definitions(variables_test PRIVATE VARIABLES_FIXTURE_DIR="${folder}" VARIABLES_FIXTURE_SOURCE="${source}")
gtest_discover_tests(variables_test)
