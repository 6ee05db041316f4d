# Checks of the sources and of the built agent that run with the tests.

function(heaptap_tool_test name)
  add_test(NAME tools.${name} COMMAND ${Python3_EXECUTABLE} ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/tools)
endfunction()

heaptap_tool_test(layers check_layers.py)
heaptap_tool_test(layers_checker check_layers_test.py)
heaptap_tool_test(tidy_checker check_tidy_test.py)
heaptap_tool_test(docs check_docs.py)
heaptap_tool_test(docs_checker check_docs_test.py)
heaptap_tool_test(html_shell check_shell.py)
heaptap_tool_test(html_shell_checker check_shell_test.py)
heaptap_tool_test(packaging check_packaging.py)
heaptap_tool_test(packages_checker check_packages_test.py)
heaptap_tool_test(agent_symbols_checker check_agent_symbols_test.py)
heaptap_tool_test(libc_checker check_libc_test.py)
heaptap_tool_test(test_runner run_tests_test.py)
heaptap_tool_test(contained contained_test.py)
heaptap_tool_test(build_cost ${PROJECT_SOURCE_DIR}/bench/suite/build_cost_test.py)
heaptap_tool_test(bench_against ${PROJECT_SOURCE_DIR}/bench/suite/against_test.py)
heaptap_tool_test(bench_figures ${PROJECT_SOURCE_DIR}/bench/suite/figures_test.py)
heaptap_tool_test(applications_judge ${PROJECT_SOURCE_DIR}/tests/applications/judge_test.py)
if(TARGET heaptap_agent AND CMAKE_BUILD_TYPE STREQUAL Release)
  heaptap_tool_test(agent_symbols check_agent_symbols.py --build ${PROJECT_BINARY_DIR}
                    --library $<TARGET_FILE:heaptap_agent>)
  heaptap_tool_test(libc check_libc.py --library $<TARGET_FILE:heaptap_agent>)
endif()

# heaptap-target is copied to small machines. Where it is suddenly 350 KB larger, something calls
# printf() or the like: docs/decisions/0083-no-streams-on-the-target.md.
if(CMAKE_BUILD_TYPE STREQUAL Release AND CMAKE_CXX_COMPILER_ID STREQUAL GNU AND HEAPTAP_CPU STREQUAL x86_64 AND NOT HEAPTAP_SANITIZE)
  set(stripped ${PROJECT_BINARY_DIR}/heaptap-target.stripped)
  add_test(NAME tools.target_size
           COMMAND sh -c "'${CMAKE_STRIP}' -o '${stripped}' '$<TARGET_FILE:heaptap-target>' && ls -l '${stripped}' && test $(wc -c < '${stripped}') -le 1800000")
endif()

# Flags that nobody misses where they went: docs/security.md.
heaptap_tool_test(hardening_checker check_hardening_test.py)
if(CMAKE_BUILD_TYPE STREQUAL Release AND CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT CMAKE_CROSSCOMPILING AND NOT HEAPTAP_SANITIZE)
  heaptap_tool_test(hardening.heaptap-target check_hardening.py --static --guarded heaptap::=400 --guarded heaptap::channel::=50
                    --checked heaptap::=5 $<TARGET_FILE:heaptap-target>)
  heaptap_tool_test(hardening.heaptap check_hardening.py --guarded heaptap::channel::=50 $<TARGET_FILE:heaptap>)
  if(TARGET heaptap_agent)
    heaptap_tool_test(hardening.heaptap_agent check_hardening.py $<TARGET_FILE:heaptap_agent>)
  endif()
endif()

# The programs work anywhere: the place of this checkout is not compiled in (debug information may name it).
heaptap_tool_test(source_path_checker check_source_path_test.py)
if(CMAKE_BUILD_TYPE STREQUAL Release)
  foreach(program heaptap heaptap_agent)
    if(TARGET ${program})
      heaptap_tool_test(no_source_path.${program} check_source_path.py $<TARGET_FILE:${program}>)
    endif()
  endforeach()
endif()
