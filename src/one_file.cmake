# What `./dev bundle` packs: heaptap as one static program, which needs nothing of the machine that it runs on, and the program at the
# head of the one file, which unpacks it (docs/decisions/0142-one-file.md).
set(HEAPTAP_STATIC_FLAGS -static-pie -Wl,-z,relro,-z,now -Wl,-z,noexecstack -Wl,--build-id=none)

add_executable(heaptap_static apps/heaptap/main.cc apps/onefile/without_libraries.cc)
set_target_properties(heaptap_static PROPERTIES HEAPTAP_IS_STATIC ON OUTPUT_NAME heaptap
                                                RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/one_file)
target_link_libraries(heaptap_static PRIVATE heaptap_heaptap heaptap_warnings)
target_link_options(heaptap_static PRIVATE ${HEAPTAP_STATIC_FLAGS})

file(GLOB sources CONFIGURE_DEPENDS apps/onefile/*.cc)
list(FILTER sources EXCLUDE REGEX "/without_libraries\\.cc$")
add_executable(heaptap_one_file ${sources})
set_target_properties(heaptap_one_file PROPERTIES HEAPTAP_IS_STATIC ON RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/one_file)
target_compile_definitions(heaptap_one_file PRIVATE HEAPTAP_VERSION="${PROJECT_VERSION}" HEAPTAP_CPU_NAME="${CMAKE_SYSTEM_PROCESSOR}")
target_compile_options(heaptap_one_file PRIVATE -Os -fstack-protector-strong)
target_link_libraries(heaptap_one_file PRIVATE heaptap_base zstd heaptap_warnings)
target_link_options(heaptap_one_file PRIVATE ${HEAPTAP_STATIC_FLAGS} -Wl,--gc-sections)
