// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "model/events.h"

namespace rtnlprof {

// One thing a recording may build on.
struct Facility {
  std::string name;
  std::string status;  // "works", "refused", "absent"
  std::string detail;  // what was found when it works, why not when it does not
  std::string lost;    // what a recording lacks without it; empty when it works
  std::string remedy;  // empty when it works, or when there is none
};

struct Diagnosis {
  Host host;
  std::vector<Facility> facilities;
  bool can_record = false;
};

// Tries every facility for real: programs are loaded and attached, a sleep of its own is recorded. Takes about half a
// second; leaves nothing attached.
Diagnosis examine_host();

}  // namespace rtnlprof
