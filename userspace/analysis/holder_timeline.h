// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/task_table.h"

namespace rtnlprof {

// Why nobody is named as the holder of a part of a timeline.
enum class HolderGap : std::uint8_t {
  kNone = 0,      // a holder is named
  kNoEvidence,    // nothing in the stream says who it was
  kUnseenChange,  // it changed hands at an unknown instant: one task held it before, another one after
};

// Who held one lock when, put together from what was seen of it. Evidence in any order, then build(), then questions.
//
// A holder counts from its first sighting to the next event that ends or contradicts it:
//  - owner_at: the lock's owner field was read (at the begin of a wait);
//  - acquired: a waiter got the lock; whoever had it before had it until then;
//  - released: a task woke the first waiter, so it held the lock until then;
//  - held: acquisition and release were both seen. These parts are exact, and override everything else.
class HolderTimeline {
 public:
  void owner_at(std::int64_t at_ns, TaskNo owner);
  // A wait began and the owner could not be read. Then `waiter` at least is not the holder.
  void wait_began(std::int64_t at_ns, TaskNo waiter);
  // `weak`: known from the end of a sleep only, so that it may be long released when somebody else is seen.
  void acquired(std::int64_t at_ns, TaskNo task, bool weak);
  // `weak`: the waker need not have been the holder (reader/writer locks); counts only where nothing else is known.
  void released(std::int64_t at_ns, TaskNo task, bool weak);
  void held(std::int64_t begin_ns, std::int64_t end_ns, TaskNo task);

  struct Segment {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    TaskNo holder = kNoTask;
    HolderGap gap = HolderGap::kNone;
  };

  // A hold whose begin was a contended acquisition and whose end was seen: by a release, or the next acquisition.
  struct HandOff {
    TaskNo task = kNoTask;
    std::int64_t acquired_ns = 0;
    std::int64_t released_ns = 0;
  };

  void build();
  // Sorted, without gaps or overlaps; neighbours differ.
  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }
  [[nodiscard]] const std::vector<HandOff>& hand_offs() const { return hand_offs_; }

  // Calls visit(Segment) for the parts of [begin_ns, end_ns), in order; their lengths sum to end_ns - begin_ns. An
  // empty interval gets one empty part. `cursor` starts at 0 and makes a series of calls with rising begins cheap.
  template <typename Visit>
  void split(std::int64_t begin_ns, std::int64_t end_ns, std::size_t& cursor, Visit&& visit) const {
    while (cursor < segments_.size() && segments_[cursor].end_ns <= begin_ns) ++cursor;
    std::size_t i = cursor;
    std::int64_t at = begin_ns;
    do {
      Segment part = i < segments_.size() ? segments_[i] : Segment{at, end_ns, kNoTask, HolderGap::kNoEvidence};
      if (part.begin_ns > at)
        part = {at, part.begin_ns, kNoTask, HolderGap::kNoEvidence};
      else
        ++i;
      part.begin_ns = at;
      if (part.end_ns > end_ns) part.end_ns = end_ns;
      visit(part);
      at = part.end_ns;
    } while (at < end_ns);
  }

  // Who held it at an instant; kNoTask = not known.
  [[nodiscard]] TaskNo holder_at(std::int64_t at_ns) const;
  // Who got the lock last, if that was after `at_ns`; kNoTask otherwise. A reader that others may join does not count.
  [[nodiscard]] TaskNo last_acquirer_after(std::int64_t at_ns) const {
    return last_acquired_ns_ > at_ns ? last_acquirer_ : kNoTask;
  }

 private:
  enum class Kind : std::uint8_t {
    kReleasedWeak,
    kReleased,
    kAcquiredWeak,
    kAcquired,
    kOwnerAt,
    kWaitBegan
  };  // order at one instant
  struct Point {
    std::int64_t at_ns;
    TaskNo task;
    Kind kind;
  };
  struct Hold {
    std::int64_t begin_ns;
    std::int64_t end_ns;
    TaskNo task;
  };

  void append(std::int64_t begin_ns, std::int64_t end_ns, TaskNo holder, HolderGap gap);
  [[nodiscard]] std::vector<TaskNo> next_claims() const;
  void walk_points();
  void overlay_holds();
  [[nodiscard]] std::size_t first_segment_after(std::int64_t at_ns) const;

  std::vector<Point> points_;
  std::int64_t last_acquired_ns_ = INT64_MIN;
  TaskNo last_acquirer_ = kNoTask;
  std::vector<Hold> holds_;
  std::vector<Segment> segments_;
  std::vector<HandOff> hand_offs_;
};

}  // namespace rtnlprof
