// SPDX-License-Identifier: BSD-2-Clause
// make_fuzz_corpus SEEDS OUT: a recording, and a bare payload, of every event stream in SEEDS.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "recording/encoder.h"
#include "recording/ndjson.h"
#include "recording/records.h"
#include "recording/writer.h"

namespace {

int make_recording(const std::filesystem::path& seed, const std::filesystem::path& recording) {
  std::ifstream in(seed);
  auto writer = rtnlprof::RecordingWriter::create(recording.string());
  if (!writer.ok()) return std::fprintf(stderr, "%s\n", writer.error().line().c_str());
  const auto quality = rtnlprof::import_ndjson(in, **writer, {.keep_going = true});
  if (!quality.ok()) return std::fprintf(stderr, "%s: %s\n", seed.c_str(), quality.error().line().c_str());
  return (*writer)->finish().ok() ? 0 : 1;
}

// An uncompressed payload, for the fuzzer to wrap in a good chunk.
void make_payload(const std::filesystem::path& path) {
  namespace format = rtnlprof::format;
  format::IdTables ids;
  format::Encoder tasks(ids);
  format::Encoder sleeps(ids);
  ids.tasks.define(1);
  tasks.begin_record();
  fields(tasks, rtnlprof::Task{.id = 1,
                               .tid = 7,
                               .pid = 7,
                               .ppid = 1,
                               .ns_tid = 0,
                               .comm = "x",
                               .cmdline = "y",
                               .cgroup = "/",
                               .container = "",
                               .work = ""});
  sleeps.begin_record();
  fields(sleeps, rtnlprof::Sleep{.task = 1, .out_ns = 1, .wake_ns = 2, .in_ns = 3, .state = 'S', .syscall_name = {}});
  std::string payload;
  tasks.move_to(payload, format::Section::kTask);
  sleeps.move_to(payload, format::Section::kSleep);
  std::ofstream(path, std::ios::binary) << payload;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: make_fuzz_corpus SEEDS OUT\n");
  const std::filesystem::path out = argv[2];
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    if (make_recording(entry.path(), out / entry.path().stem().replace_extension(".rtnl")) != 0) return 1;
  }
  make_payload(out / "payload");
  return 0;
}
