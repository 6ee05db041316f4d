# The tracer's decisions, on code and stacks that are made up.
heaptap_target_test(call_exits_test)
heaptap_target_test(breakpoint_table_test)
heaptap_target_test(pending_calls_test)
heaptap_target_test(trap_test)
