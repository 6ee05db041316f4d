// Purpose of blocks that system libraries allocate.
#pragma once
#include <cstdint>

namespace heaptap::report {

// kProgram: requested by the program.
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
