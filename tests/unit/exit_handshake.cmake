# A program's end as the collector sees it: with the real agent in a real program.
heaptap_core_test(exit_handshake_test)
target_link_libraries(exit_handshake_test PRIVATE heaptap_collect)
target_compile_definitions(exit_handshake_test PRIVATE
  HEAPTAP_TEST_AGENT="$<TARGET_FILE:heaptap_agent>" HEAPTAP_TEST_PROGRAM="$<TARGET_FILE:target_ending_places>")
add_dependencies(exit_handshake_test heaptap_agent target_ending_places)
