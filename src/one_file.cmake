# What `./dev bundle` packs: heaptap as one static program, which needs nothing of the machine that it runs on, and the program at the
# head of the one file, which unpacks it (docs/decisions/0142-one-file.md).
set(HEAPTAP_STATIC_FLAGS -static-pie -Wl,-z,relro,-z,now -Wl,-z,noexecstack -Wl,--build-id=none)

add_executable(heaptap_static apps/heaptap/main.cc apps/onefile/without_libraries.cc)
set_target_properties(heaptap_static PROPERTIES HEAPTAP_IS_STATIC ON OUTPUT_NAME heaptap
                                                RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/one_file)
target_link_libraries(heaptap_static PRIVATE heaptap_heaptap heaptap_warnings)
target_link_options(heaptap_static PRIVATE ${HEAPTAP_STATIC_FLAGS})

add_executable(heaptap_one_file apps/onefile/main.cc)
set_target_properties(heaptap_one_file PROPERTIES HEAPTAP_IS_STATIC ON RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/one_file)
target_compile_options(heaptap_one_file PRIVATE -Os -fstack-protector-strong)
target_link_libraries(heaptap_one_file PRIVATE heaptap_onefile heaptap_warnings)
target_link_options(heaptap_one_file PRIVATE ${HEAPTAP_STATIC_FLAGS} -Wl,--gc-sections)
