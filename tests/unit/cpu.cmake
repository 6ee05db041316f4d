# What the tracer knows of its targets' CPUs: instructions against objdump and against the CPU itself.
function(heaptap_cpu_test name)
  add_executable(${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.cc)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_LIST_DIR})
  target_link_libraries(${name} PRIVATE heaptap_target_side heaptap_warnings GTest::gtest_main)
  gtest_discover_tests(${name})
endfunction()

heaptap_cpu_test(cpu_test)
heaptap_cpu_test(cpu_decode_test)
heaptap_cpu_test(cpu_emulate_test)
heaptap_cpu_test(cpu_survey_test)
target_compile_definitions(cpu_survey_test PRIVATE HEAPTAP_TARGETS="${PROJECT_BINARY_DIR}/tests/targets")
heaptap_cpu_test(program_memory_test)
