# The target's side on a machine of its own: one small static program over the floors that apps/target may include. It has copies of
# their rooms that are built for size: linked with the ordinary ones it would be twice as large.
function(heaptap_small_floors target)
  # It meets strangers: it lies at another address each time, where the C library has what a static program needs for that (Debian's has
  # it on x86-64 and AArch64), and what the loader has filled in isn't written again.
  set(CMAKE_REQUIRED_FLAGS -fPIE)
  set(CMAKE_REQUIRED_LINK_OPTIONS -static-pie)
  check_cxx_source_compiles("int main(int count, char** words) { return __builtin___memset_chk(*words, 0, count, 9) == words; }"
                            HEAPTAP_HAS_STATIC_PIE)
  unset(CMAKE_REQUIRED_FLAGS)
  if(HEAPTAP_HAS_STATIC_PIE)
    set(compile_pie -fPIE)
    set(link_pie -static-pie)
  else()
    set(compile_pie -fno-pie)
    set(link_pie -static -no-pie)
  endif()
  set(is_small $<NOT:$<CONFIG:Debug>>)  # else it is built in a third of the time, to see that it can be
  heaptap_named_by(floor apps/target floors)
  set(sources)
  foreach(floor IN LISTS floors)
    heaptap_rooms_of(${floor} rooms)
    foreach(room IN LISTS rooms)
      if(TARGET heaptap_${room})
        get_target_property(files heaptap_${room} SOURCES)
        list(APPEND sources ${files})
      endif()
    endforeach()
  endforeach()
  add_library(heaptap_small STATIC EXCLUDE_FROM_ALL ${sources})
  foreach(each heaptap_small ${target})
    target_include_directories(${each} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${each} PRIVATE heaptap_warnings heaptap_api)
    # No number with a point is written there.
    target_compile_definitions(${each} PRIVATE "FMT_STATIC_THOUSANDS_SEPARATOR=','" FMT_USE_FLOAT=0 FMT_USE_DOUBLE=0
                                               FMT_USE_LONG_DOUBLE=0 HEAPTAP_VERSION="${PROJECT_VERSION}"
                                               HEAPTAP_KNOWS_OWN_CPUS_ALONE)
    target_compile_options(${each} PRIVATE $<${is_small}:-Os> ${compile_pie} -ffunction-sections -fdata-sections -fstack-protector-strong)
    target_compile_definitions(${each} PRIVATE $<${is_small}:_FORTIFY_SOURCE=2>)
    set_target_properties(${each} PROPERTIES POSITION_INDEPENDENT_CODE OFF)  # -fPIC would come behind -fPIE
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # an eighth less
      target_compile_options(${each} PRIVATE $<${is_small}:-flto=auto>)
      target_link_options(${each} PRIVATE $<${is_small}:-flto=auto -flto-partition=one>)
    endif()
  endforeach()
  set_target_properties(heaptap_small PROPERTIES EXPORT_COMPILE_COMMANDS OFF)
  if(HEAPTAP_UNITY)
    set_target_properties(heaptap_small PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${HEAPTAP_TARGET_BATCH})
    target_compile_options(heaptap_small PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
  target_link_libraries(${target} PRIVATE heaptap_small bearssl z)
  # Where the CPU has no atomics of 64 bits, or the compiler doesn't know how to make those of 8 bits (RISC-V), they are functions of the
  # compiler's library.
  set(CMAKE_REQUIRED_LINK_OPTIONS -static)
  check_cxx_source_compiles(
    "#include <atomic>\n#include <cstdint>\nstd::atomic<uint64_t> at;\nstd::atomic<bool> is;\nint main() { return int(at++) + is.exchange(1); }"
    HEAPTAP_HAS_ALL_ATOMICS)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  if(NOT HEAPTAP_HAS_ALL_ATOMICS)
    target_link_libraries(${target} PRIVATE atomic)
  endif()
  target_link_options(${target} PRIVATE -Os ${link_pie} -Wl,--gc-sections -Wl,-z,noseparate-code -Wl,-z,relro,-z,now -Wl,-z,noexecstack)
  check_linker_flag(CXX -Wl,-z,pack-relative-relocs HEAPTAP_PACKS_RELOCATIONS)
  if(HEAPTAP_HAS_STATIC_PIE AND HEAPTAP_PACKS_RELOCATIONS)  # 33 KB less
    target_link_options(${target} PRIVATE -Wl,-z,pack-relative-relocs)
  endif()
endfunction()

set(HEAPTAP_TARGET_BATCH 60 CACHE STRING "Files of heaptap-target that are compiled as one")
option(HEAPTAP_TARGET_CARRIES_AGENT "heaptap-target has the agent in it, for where its file isn't beside it" ON)
file(GLOB target_sources CONFIGURE_DEPENDS apps/target/*.cc apps/target/discovery/*.cc)
heaptap_choose_discovery(target_sources)
list(FILTER target_sources EXCLUDE REGEX "/without_stdio\\.cc$")  # of the static one alone
add_executable(heaptap-target ${target_sources})
set_target_properties(heaptap-target PROPERTIES UNITY_BUILD ${HEAPTAP_UNITY} UNITY_BUILD_BATCH_SIZE 0)
set_source_files_properties(apps/target/without_stdio.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)  # has flags of its own
if(HEAPTAP_SANITIZE)  # whose runtimes are no static libraries
  target_link_libraries(heaptap-target PRIVATE heaptap_floor_capture heaptap_floor_common heaptap_warnings)
  target_compile_definitions(heaptap-target PRIVATE HEAPTAP_VERSION="${PROJECT_VERSION}")
else()
  heaptap_small_floors(heaptap-target)
  target_sources(heaptap-target PRIVATE apps/target/without_stdio.cc)
  set_source_files_properties(apps/target/without_stdio.cc PROPERTIES COMPILE_OPTIONS "-fno-lto;-fno-builtin")
  if(HEAPTAP_TARGET_CARRIES_AGENT AND TARGET heaptap_agent)
    set(carried ${CMAKE_CURRENT_BINARY_DIR}/carried_agent.so)
    # Both write the same format; zopfli's is smaller by 4 %.
    find_program(HEAPTAP_ZOPFLI zopfli)
    set(pack gzip -9nf)
    if(HEAPTAP_ZOPFLI)
      set(pack ${HEAPTAP_ZOPFLI})
    endif()
    add_custom_command(
      OUTPUT ${carried}.gz
      COMMAND ${CMAKE_STRIP} -R .comment -o ${carried} $<TARGET_FILE:heaptap_small_agent>
      COMMAND ${pack} ${carried}
      DEPENDS heaptap_small_agent)
    target_sources(heaptap-target PRIVATE apps/target/carried_agent.S)
    set_source_files_properties(apps/target/carried_agent.S PROPERTIES
                                COMPILE_DEFINITIONS "HEAPTAP_CARRIED_AGENT=\"${carried}.gz\"" OBJECT_DEPENDS ${carried}.gz)
    target_compile_definitions(heaptap-target PRIVATE HEAPTAP_CARRIES_AGENT)
  endif()
endif()
