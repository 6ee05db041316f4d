// What a module's symbols lack, and so what the frames in it lack. How to get it, a renderer says.
#pragma once
#include <cstdint>
#include <string>

namespace heaptap::model {

struct SymbolHint {
  enum class Lack : uint8_t {
    kFile,      // it isn't on this machine
    kSameFile,  // another one is in its place: its build-id differs
    kSymbols,   // it has those alone that it exports
    kLines,     // it has names, and nothing about source lines
    kParts,     // inlined functions of some of it are described in files that aren't found (.dwo)
    kReadable,  // its debug information is compressed in a way that can't be read here
  };
  std::string path;  // of the module, as the target had it
  Lack lack = Lack::kLines;
  bool without_names = false;  // some frames have no name; else only lines are missing
  bool asked_servers = false;  // debuginfod was asked
  // Of kSameFile, build-ids in hex.
  std::string build_id = {};        // that the trace has
  std::string other_path = {};      // of the file that is in its place
  std::string other_build_id = {};  // empty: that one has none
  // Of kParts.
  std::string missing_part = {};    // one of these files
  bool has_package = false;         // a .dwp is beside it
  std::string package_reader = {};  // the version of elfutils here, where that reads none; empty: it reads them
  bool finds_packages = false;      // there is a command here that names the package with its debug symbols
};

}  // namespace heaptap::model
