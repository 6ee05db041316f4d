# What is installed, and where: relative to the prefix, nothing compiled in. The program finds the agent beside itself or
# in ../lib/heaptap. What programs are built against is in src/agent/api/CMakeLists.txt.
include(GNUInstallDirs)

foreach(program heaptap heaptap-target)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION bin)
  endif()
endforeach()
foreach(agent heaptap_agent heaptap_injected)
  if(TARGET ${agent})
    install(TARGETS ${agent} LIBRARY DESTINATION lib/heaptap)
  endif()
endforeach()

# Man pages: docs/man/NAME.SECTION.scd, with the parts that several of them share.
file(GLOB man_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.scd)
file(GLOB man_parts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/parts/*.scd)
if(man_sources AND HEAPTAP_MAN)
  find_program(SCDOC scdoc REQUIRED)
  # Their date is the release's, not that of the day on which they are made.
  file(STRINGS ${PROJECT_SOURCE_DIR}/CHANGELOG.md release_date REGEX "^## \\[${PROJECT_VERSION}\\] - ")
  string(REGEX REPLACE ".* - " "" release_date "${release_date}")
  execute_process(COMMAND date --utc --date=${release_date} +%s OUTPUT_VARIABLE release_time OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  set(man_include ${PROJECT_SOURCE_DIR}/tools/man_include.awk)
  set(man_pages)
  foreach(source ${man_sources})
    cmake_path(GET source STEM LAST_ONLY page)
    string(REGEX REPLACE ".*\\." "" section ${page})
    set(whole ${PROJECT_BINARY_DIR}/man/${page}.scd)
    set(output ${PROJECT_BINARY_DIR}/man/${page}.gz)
    add_custom_command(
      OUTPUT ${output}
      COMMAND sh -c "mkdir -p man && awk -f '${man_include}' '${source}' > '${whole}'"
      COMMAND sh -c "SOURCE_DATE_EPOCH=${release_time} ${SCDOC} < '${whole}' | gzip -9n > '${output}'"
      DEPENDS ${source} ${man_parts} ${man_include}
      WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
      VERBATIM)
    list(APPEND man_pages ${output})
    install(FILES ${output} DESTINATION share/man/man${section})
  endforeach()
  add_custom_target(man_pages ALL DEPENDS ${man_pages})
  add_dependencies(programs man_pages)
endif()

# Completions, which the program itself prints from its options; a program for another CPU can't.
if(NOT CMAKE_CROSSCOMPILING)
  set(completions ${PROJECT_BINARY_DIR}/completions)
  foreach(shell bash zsh fish)
    add_custom_command(
      OUTPUT ${completions}/heaptap.${shell}
      COMMAND sh -c "mkdir -p completions && '$<TARGET_FILE:heaptap>' completions ${shell} > completions/heaptap.${shell}"
      DEPENDS heaptap
      WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
      VERBATIM)
  endforeach()
  add_custom_target(completions ALL DEPENDS ${completions}/heaptap.bash ${completions}/heaptap.zsh ${completions}/heaptap.fish)
  add_dependencies(programs completions)
  install(FILES ${completions}/heaptap.bash DESTINATION share/bash-completion/completions RENAME heaptap)
  install(FILES ${completions}/heaptap.fish DESTINATION share/fish/vendor_completions.d)
  # Debian's zsh looks for those of packages in a directory of its own.
  install(CODE "
    set(directory share/zsh/site-functions)
    if(CMAKE_INSTALL_PREFIX MATCHES \"/usr$\")
      set(directory share/zsh/vendor-completions)
    endif()
    file(INSTALL \"${completions}/heaptap.zsh\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/\${directory}\" RENAME _heaptap)")
endif()

# Pages, and what their links lead to. README.md stands among those of docs/ there.
file(GLOB pages CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/docs/*.md
     ${PROJECT_SOURCE_DIR}/docs/howto/*.md ${PROJECT_SOURCE_DIR}/docs/decisions/*.md ${PROJECT_SOURCE_DIR}/docs/measurements/*.md)
foreach(page IN LISTS pages)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${page})
  file(READ ${PROJECT_SOURCE_DIR}/${page} text)
  string(REPLACE "](docs/" "](" text "${text}")
  string(REPLACE "../README.md" "README.md" text "${text}")
  string(REPLACE "](LICENSE)" "](copyright)" text "${text}")
  string(REPLACE "](CHANGELOG.md)" "](changelog.gz)" text "${text}")
  string(REGEX REPLACE "^docs/" "" page ${page})
  file(WRITE ${PROJECT_BINARY_DIR}/doc/${page} "${text}")
endforeach()
install(DIRECTORY ${PROJECT_BINARY_DIR}/doc/ DESTINATION share/doc/heaptap COMPONENT pages)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/pictures DESTINATION share/doc/heaptap COMPONENT pages FILES_MATCHING PATTERN "*.png")
file(GLOB schemas CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.schema.json)
install(FILES ${schemas} DESTINATION share/doc/heaptap COMPONENT pages)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION share/doc/heaptap)
# Parts of other tools: plugins, actions, a skill of assistants.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/share/heaptap DESTINATION share FILES_MATCHING PATTERN "*.py" PATTERN "*.json" PATTERN "*.md")
