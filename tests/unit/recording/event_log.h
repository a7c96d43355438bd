// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "model/events.h"

namespace rtnlprof::testing {

// A sink that renders every event, with all its fields and with ids resolved or not, as one line of text, so that two
// streams compare by comparing lines.
class EventLog : public EventSink {
 public:
  std::vector<std::string> lines;

  [[nodiscard]] std::vector<std::string> sorted() const;

  void on_header(const Header& event) override;
  void on_footer(const Footer& event) override;
  void on_task(const Task& event) override;
  void on_frame(const Frame& event) override;
  void on_stack(const Stack& event) override;
  void on_lock(const Lock& event) override;
  void on_sleep(const Sleep& event) override;
  void on_wait(const Wait& event) override;
  void on_hold(const Hold& event) override;
  void on_call(const Call& event) override;
  void on_wakeups(const Wakeups& event) override;
  void on_scheduler(const SchedulerTotals& event) override;
  void on_in_flight(const InFlight& event) override;
  void on_suspend(const Suspend& event) override;
  void on_probe(const Probe& event) override;
  void on_lost(const Lost& event) override;
  void on_nic(const Nic& event) override;

 private:
  template <typename... Fields>
  void add(const char* type, const Fields&... fields);
};

// Sends a stream with at least two of every kind of event, hostile texts and extreme values among them.
void send_everything(EventSink& sink, bool with_footer = true);

// A file name in a fresh directory of this test, removed with it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);

// Makes a recording of what `send_everything` sends.
void write_everything(const std::string& path, bool with_footer = true);

}  // namespace rtnlprof::testing
