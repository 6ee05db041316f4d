# The fuzz targets: each tests/fuzz/NAME.cc has an LLVMFuzzerTestOneInput, and may have seeds in tests/fuzz/corpus/NAME.
# What they share is in tests/fuzz/support.
# With HEAPTAP_FUZZ it becomes fuzz/NAME in the build directory; with the tests, its seeds are a test.
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*.cc)

function(heaptap_fuzz_executable target)
  add_executable(${target} ${ARGN})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${target} PRIVATE heaptap_app heaptap_warnings)
endfunction()

if(HEAPTAP_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "The fuzz targets need clang: cmake --preset fuzz")
  endif()
  add_custom_target(fuzz_targets)
endif()

foreach(source ${fuzz_sources})
  cmake_path(GET source STEM name)
  set(seeds ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
  if(HEAPTAP_FUZZ)
    heaptap_fuzz_executable(fuzz_${name} ${source})
    set_target_properties(fuzz_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
    target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer,address,undefined)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer,address,undefined)
    add_dependencies(fuzz_targets fuzz_${name})
  elseif(HEAPTAP_TESTS AND EXISTS ${seeds})
    heaptap_fuzz_executable(replay_${name} ${source} ${PROJECT_SOURCE_DIR}/tests/fuzz/replay/main.cc)
    set_target_properties(replay_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    add_test(NAME fuzz.seeds.${name} COMMAND replay_${name} ${seeds})
  endif()
endforeach()
