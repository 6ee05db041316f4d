# What runs beside the target: stopping it, reading it. The tests use children of their own.
function(heaptap_target_test name)
  add_executable(${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.cc)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_LIST_DIR})
  target_link_libraries(${name} PRIVATE heaptap_target_side heaptap_warnings GTest::gtest_main)
  gtest_discover_tests(${name})
endfunction()

heaptap_target_test(blocking_calls_test)
heaptap_target_test(stopped_process_test)
heaptap_target_test(process_memory_test)
heaptap_target_test(root_finder_test)
heaptap_target_test(kernel_words_test)
heaptap_target_test(traced_memory_test)
