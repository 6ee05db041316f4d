// What a library of the system has blocks for.
#pragma once
#include <cstdint>

namespace heaptap::report {

// kProgram: what the program asked for.
enum class Purpose : uint8_t {
  kProgram,
  kEmergencyPool,
  kFileBuffers,
  kEnvironment,
  kLocale,
  kTranslations,
  kTimeZone,
  kExitFunctions,
  kUserDatabase,
  kConversions,
  kThreadSpecific,
  kLoader,
  kGlibTypes,
  kGlibQuarks,
  kGlibSettings,
  kGlibThreads,
};

}  // namespace heaptap::report
