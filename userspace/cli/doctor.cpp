// SPDX-License-Identifier: BSD-2-Clause
#include "capture/doctor.h"

#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/commands.h"

namespace rtnlprof::cli {
namespace {

nlohmann::ordered_json to_json(const Diagnosis& diagnosis) {
  nlohmann::ordered_json out;
  out["schema"] = "rtnlprof.doctor/1";
  out["tool"] = {{"version", RTNLPROF_VERSION}};
  const Host& host = diagnosis.host;
  out["host"] = {{"hostname", valid_utf8(host.hostname)},
                 {"kernel_release", valid_utf8(host.kernel_release)},
                 {"arch", valid_utf8(host.arch)},
                 {"cpus", host.cpus},
                 {"boot_id", valid_utf8(host.boot_id)}};
  out["can_record"] = diagnosis.can_record;
  out["facilities"] = nlohmann::ordered_json::array();
  for (const Facility& facility : diagnosis.facilities) {
    out["facilities"].push_back({{"name", facility.name},
                                 {"status", facility.status},
                                 {"detail", valid_utf8(facility.detail)},
                                 {"lost", facility.lost},
                                 {"remedy", facility.remedy}});
  }
  return out;
}

void print_text(const Diagnosis& diagnosis) {
  std::cout << "rtnlprof " RTNLPROF_VERSION " on " << terminal_safe(diagnosis.host.kernel_release) << " "
            << terminal_safe(diagnosis.host.arch) << ", " << diagnosis.host.cpus << " CPUs\n\n";
  for (const Facility& facility : diagnosis.facilities) {
    const char* mark = facility.status == "works" ? "ok     " : (facility.status == "refused" ? "REFUSED" : "absent ");
    std::cout << mark << "  " << facility.name << ": " << terminal_safe(facility.detail) << "\n";
    if (!facility.lost.empty()) std::cout << "           missing then: " << facility.lost << "\n";
    if (!facility.remedy.empty()) std::cout << "           remedy: " << facility.remedy << "\n";
  }
  std::cout << "\n" << (diagnosis.can_record ? "This host can be recorded." : "This host cannot be recorded.") << "\n";
}

int run_doctor(bool json) {
  const Diagnosis diagnosis = examine_host();
  if (json) {
    std::cout << to_json(diagnosis).dump(2) << "\n";
  } else {
    print_text(diagnosis);
  }
  std::cout.flush();
  if (!std::cout) return trouble({"cannot write to standard output", ""});
  if (diagnosis.can_record) return kDone;
  for (const Facility& facility : diagnosis.facilities) {
    if (facility.status != "works" && facility.lost.starts_with("everything")) {
      return trouble({"this host cannot be recorded: " + facility.detail, facility.remedy});
    }
  }
  return trouble({"this host cannot be recorded", "see the list above"});
}

}  // namespace

void add_doctor_command(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("doctor", "What works on this kernel, what does not, why, and the remedy");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "as JSON");
  command->footer("Example: rtnlprof doctor\nExit status: 0 when this host can be recorded, 2 when not.");
  command->callback([json, &run] { run = [json] { return run_doctor(*json); }; });
}

}  // namespace rtnlprof::cli
