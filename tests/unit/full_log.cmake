# A full log, with the real agent in a real program.
heaptap_core_test(full_log_test)
target_link_libraries(full_log_test PRIVATE heaptap_collect)
target_compile_definitions(full_log_test PRIVATE
  HEAPTAP_TEST_AGENT="$<TARGET_FILE:heaptap_agent>" HEAPTAP_TEST_PROGRAM="$<TARGET_FILE:target_log_outrun>")
add_dependencies(full_log_test heaptap_agent target_log_outrun)
