// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <memory>

#include "analysis/filter.h"
#include "analysis/report_model.h"
#include "model/events.h"

namespace rtnlprof {

struct AnalyzerOptions {
  Filter filter;
  std::size_t top = 0;  // longest list in the report; 0 = complete
};

// Turns an event stream into a Report. Pure: no clock, no I/O, no globals; the same events give the same report.
// Sleeps are aggregated as they come; waits are kept (40 bytes each), because who held a lock is known only at the
// end. Definitions (tasks, frames, locks) may be replaced until finish(). One thread at a time.
class Analyzer final : public EventSink {
 public:
  explicit Analyzer(AnalyzerOptions options = {});
  ~Analyzer() override;

  void on_header(const Header& event) override;
  void on_footer(const Footer& event) override;
  void on_task(const Task& event) override;
  void on_frame(const Frame& event) override;
  void on_stack(const Stack& event) override;
  void on_lock(const Lock& event) override;
  void on_sleep(const Sleep& event) override;
  void on_wait(const Wait& event) override;
  void on_hold(const Hold& event) override;
  void on_wakeups(const Wakeups& event) override;
  void on_scheduler(const SchedulerTotals& event) override;
  void on_in_flight(const InFlight& event) override;
  void on_suspend(const Suspend& event) override;
  void on_probe(const Probe& event) override;
  void on_lost(const Lost& event) override;
  void on_nic(const Nic& event) override;

  // The report on everything received so far. Call once; the analyzer is used up afterwards.
  [[nodiscard]] Report finish(const StreamQuality& quality);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rtnlprof
