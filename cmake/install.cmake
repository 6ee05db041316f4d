# What is installed, and where: relative to the prefix, nothing compiled in. The program finds the agent beside itself or
# in ../lib/heaptap.
include(GNUInstallDirs)

foreach(program heaptap heaptap-target)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION bin)
  endif()
endforeach()
if(TARGET heaptap_agent)
  install(TARGETS heaptap_agent LIBRARY DESTINATION lib/heaptap)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/heaptap DESTINATION include FILES_MATCHING PATTERN "*.h")

# Man pages: docs/man/NAME.SECTION.scd.
file(GLOB man_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.scd)
if(man_sources AND HEAPTAP_MAN)
  find_program(SCDOC scdoc REQUIRED)
  set(man_pages)
  foreach(source ${man_sources})
    cmake_path(GET source STEM LAST_ONLY page)
    string(REGEX REPLACE ".*\\." "" section ${page})
    set(output ${PROJECT_BINARY_DIR}/man/${page}.gz)
    add_custom_command(
      OUTPUT ${output}
      COMMAND sh -c "mkdir -p man && ${SCDOC} < '${source}' | gzip -9n > '${output}'"
      DEPENDS ${source}
      WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
      VERBATIM)
    list(APPEND man_pages ${output})
    install(FILES ${output} DESTINATION share/man/man${section})
  endforeach()
  add_custom_target(man_pages ALL DEPENDS ${man_pages})
  add_dependencies(programs man_pages)
endif()

set(completion ${PROJECT_SOURCE_DIR}/docs/completion/heaptap.bash)
if(EXISTS ${completion})
  install(FILES ${completion} DESTINATION share/bash-completion/completions RENAME heaptap)
endif()

file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/docs/*.md)
install(FILES ${pages} DESTINATION share/doc/heaptap)
if(EXISTS ${PROJECT_SOURCE_DIR}/docs/howto)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/howto DESTINATION share/doc/heaptap FILES_MATCHING PATTERN "*.md")
endif()
if(EXISTS ${PROJECT_SOURCE_DIR}/LICENSE)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/doc/heaptap RENAME copyright)
endif()
