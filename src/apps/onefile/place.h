// Directory where the programs of the one file are unpacked: no other user can write, rename or link anything in it.
#pragma once
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace heaptap::onefile {

struct Place {
  std::string base;                // may be missing, and may be reached through links
  std::vector<std::string> below;  // directories in it, this user's alone
};

// In the order in which they are tried.
std::vector<Place> places_of_user();

struct OpenPlace {
  base::UniqueFd directory;
  std::string path;  // without links
};

// Makes what is missing. Fails where another user could exchange what is in it, and where no program may run.
base::Result<OpenPlace> open_place(const Place& place);

// Directory `name` in `parent`, whose path is `path`, made if it is missing; only where it is this user's.
base::Result<base::UniqueFd> open_own_directory(int parent, const std::string& name, const std::string& path);

}  // namespace heaptap::onefile
