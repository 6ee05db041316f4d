# The leak scan, and what is concluded from it.
function(heaptap_leaks_test name)
  add_executable(${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.cc)
  target_link_libraries(${name} PRIVATE heaptap_leaks heaptap_scan heaptap_warnings GTest::gtest_main)
  gtest_discover_tests(${name})
endfunction()

heaptap_leaks_test(leak_graph_test)
heaptap_leaks_test(heap_scanner_test)
