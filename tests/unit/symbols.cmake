# One library in all the states in which symbols can come: see tests/unit/fixtures/symbols_fixture.cc.
set(fixture_source ${CMAKE_CURRENT_LIST_DIR}/fixtures/symbols_fixture.cc)
set(fixture_dir ${CMAKE_CURRENT_BINARY_DIR}/symbols_fixtures)
file(MAKE_DIRECTORY ${fixture_dir})
set(fixture_outputs)

# The build-id is given, so that the test and the folder of the debug file can know it.
set(fixture_id_folder ab)
set(fixture_id_name cdef0123456789abcdef0123456789abcdef01)
set(fixture_flags -shared -fPIC -std=c++20 -fno-sanitize=all -Wl,--build-id=0x${fixture_id_folder}${fixture_id_name})

# symbols_fixture(NAME COMPILER FLAGS…)
function(symbols_fixture name compiler)
  add_custom_command(
    OUTPUT ${fixture_dir}/${name}
    COMMAND ${compiler} ${fixture_flags} ${ARGN} ${fixture_source} -o ${fixture_dir}/${name}
    DEPENDS ${fixture_source}
    VERBATIM)
  set(fixture_outputs ${fixture_outputs} ${fixture_dir}/${name} PARENT_SCOPE)
endfunction()

# symbols_fixture_copy(NAME OBJCOPY_FLAGS…): made of full.so.
function(symbols_fixture_copy name)
  get_filename_component(folder ${fixture_dir}/${name} DIRECTORY)
  add_custom_command(
    OUTPUT ${fixture_dir}/${name}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${CMAKE_OBJCOPY} ${ARGN} ${fixture_dir}/full.so ${fixture_dir}/${name}
    DEPENDS ${fixture_dir}/full.so ${fixture_dir}/linked.debug
    WORKING_DIRECTORY ${fixture_dir}
    VERBATIM)
  set(fixture_outputs ${fixture_outputs} ${fixture_dir}/${name} PARENT_SCOPE)
endfunction()

symbols_fixture(full.so ${CMAKE_CXX_COMPILER} -g -O2)
symbols_fixture(dwarf4.so ${CMAKE_CXX_COMPILER} -gdwarf-4 -O2)
symbols_fixture(lto.so ${CMAKE_CXX_COMPILER} -g -O2 -flto)
symbols_fixture(compressed.so ${CMAKE_CXX_COMPILER} -g -O2 -gz)
symbols_fixture(unoptimised.so ${CMAKE_CXX_COMPILER} -g -O0)
find_program(fixture_clang NAMES clang++-19 clang++)
if(fixture_clang)
  symbols_fixture(clang.so ${fixture_clang} -g -O2)
endif()

add_custom_command(
  OUTPUT ${fixture_dir}/linked.debug
  COMMAND ${CMAKE_OBJCOPY} --only-keep-debug full.so linked.debug
  DEPENDS ${fixture_dir}/full.so
  WORKING_DIRECTORY ${fixture_dir}
  VERBATIM)
symbols_fixture_copy(named.so --strip-debug)
symbols_fixture_copy(stripped.so --strip-all)
symbols_fixture_copy(linked.so --strip-all --add-gnu-debuglink=linked.debug --remove-section=.note.gnu.build-id)
symbols_fixture_copy(tree/.build-id/${fixture_id_folder}/${fixture_id_name}.debug --only-keep-debug)
symbols_fixture_copy(packed/.build-id/${fixture_id_folder}/${fixture_id_name}.debug --only-keep-debug
                     --compress-debug-sections=zlib)
symbols_fixture_copy(copies/lib/moved.so --strip-debug)

add_custom_target(symbols_fixtures DEPENDS ${fixture_outputs})
add_executable(symbols_test ${CMAKE_CURRENT_LIST_DIR}/symbols_test.cc)
add_dependencies(symbols_test symbols_fixtures)
target_link_libraries(symbols_test PRIVATE heaptap_symbols heaptap_warnings GTest::gtest GTest::gtest_main)
target_compile_definitions(
  symbols_test PRIVATE SYMBOLS_FIXTURE_DIR="${fixture_dir}" SYMBOLS_FIXTURE_SOURCE="${fixture_source}"
                       SYMBOLS_FIXTURE_ID="${fixture_id_folder}${fixture_id_name}")
gtest_discover_tests(symbols_test)
