// Hint on missing symbols of a module, which its frames lack. Renderers say how to get them.
#pragma once
#include <cstdint>
#include <string>

namespace heaptap::model {

struct SymbolHint {
  enum class Lack : uint8_t {
    kFile,      // not on this machine
    kSameFile,  // replaced by another file: its build-id differs
    kSymbols,   // has exported symbols only
    kLines,     // has names, but no line information
    kParts,     // inlined functions of some parts are described in files that are missing (.dwo)
    kReadable,  // its debug information has an unsupported compression
  };
  std::string path;  // of the module, in the target
  Lack lack = Lack::kLines;
  bool without_names = false;        // some frames have no name; else only lines are missing
  bool asked_servers = false;        // debuginfod was asked
  std::string servers_failure = {};  // why it wasn't, although servers are set
  // For kSameFile, build-ids in hex.
  std::string build_id = {};        // in the trace
  std::string other_path = {};      // of the replacing file
  std::string other_build_id = {};  // empty: it has none
  // For kParts.
  std::string missing_part = {};    // one of the missing files
  bool has_package = false;         // there is a .dwp beside it
  std::string package_reader = {};  // version of the local elfutils, if it can't read packages; empty: it can
  bool finds_packages = false;      // a local command can name the package with its debug symbols
};

}  // namespace heaptap::model
