# The road of an event from the log to the trace: wire, intake, unwinding, the log's reader.
function(heaptap_core_test name)
  add_executable(${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.cc ${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE heaptap_intake heaptap_warnings GTest::gtest_main)
  gtest_discover_tests(${name})
endfunction()

heaptap_core_test(wire_test)
heaptap_core_test(intake_test)
heaptap_core_test(trace_file_test)
heaptap_core_test(frame_reader_test)
heaptap_core_test(scan_frames_test)
heaptap_core_test(event_coder_test)
heaptap_core_test(unwind_test)
# The second opinion on unwind tables.
find_package(PkgConfig REQUIRED)
pkg_check_modules(HEAPTAP_TEST_ELFUTILS REQUIRED IMPORTED_TARGET libdw libelf)
target_link_libraries(unwind_test PRIVATE PkgConfig::HEAPTAP_TEST_ELFUTILS)
# Compiled into the test, so that sanitizers watch it here.
heaptap_core_test(log_test ${PROJECT_SOURCE_DIR}/src/target/log_memory.cc ${PROJECT_SOURCE_DIR}/src/target/log_parts.cc ${PROJECT_SOURCE_DIR}/src/target/log_reader.cc)
heaptap_core_test(live_blocks_test)
heaptap_core_test(stack_bounds_test)
heaptap_core_test(late_table_test)
