# The tracer's way from a stopped thread to the log.
function(heaptap_tracer_test name)
  add_executable(${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.cc)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_LIST_DIR})
  target_link_libraries(${name} PRIVATE heaptap_target_side heaptap_intake heaptap_warnings GTest::gtest_main)
  gtest_discover_tests(${name})
endfunction()

heaptap_tracer_test(log_writer_test)
