// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/holder_timeline.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace rtnlprof {

void HolderTimeline::owner_at(std::int64_t at_ns, TaskNo owner) { points_.push_back({at_ns, owner, Kind::kOwnerAt}); }

void HolderTimeline::wait_began(std::int64_t at_ns, TaskNo waiter) {
  points_.push_back({at_ns, waiter, Kind::kWaitBegan});
}

void HolderTimeline::acquired(std::int64_t at_ns, TaskNo task, bool weak) {
  points_.push_back({at_ns, task, weak ? Kind::kAcquiredWeak : Kind::kAcquired});
  if (!weak && (at_ns > last_acquired_ns_ || (at_ns == last_acquired_ns_ && task > last_acquirer_))) {
    last_acquired_ns_ = at_ns;
    last_acquirer_ = task;
  }
}

void HolderTimeline::released(std::int64_t at_ns, TaskNo task, bool weak) {
  points_.push_back({at_ns, task, weak ? Kind::kReleasedWeak : Kind::kReleased});
}

void HolderTimeline::held(std::int64_t begin_ns, std::int64_t end_ns, TaskNo task) {
  holds_.push_back({begin_ns, end_ns, task});
  acquired(begin_ns, task, false);
  released(end_ns, task, false);
}

void HolderTimeline::build() {
  std::sort(points_.begin(), points_.end(), [](const Point& a, const Point& b) {
    return std::tie(a.at_ns, a.kind, a.task) < std::tie(b.at_ns, b.kind, b.task);
  });
  walk_points();
  points_ = {};
  overlay_holds();
}

// For each point: who the evidence after it says held the lock; a wait that begins says nothing about it, and an
// acquisition ends it.
std::vector<TaskNo> HolderTimeline::next_claims() const {
  std::vector<TaskNo> claims(points_.size(), kNoTask);
  TaskNo claim = kNoTask;
  for (std::size_t i = points_.size(); i-- > 0;) {
    switch (points_[i].kind) {
      case Kind::kOwnerAt:
      case Kind::kReleased:
      case Kind::kReleasedWeak:
        claim = points_[i].task;
        break;
      case Kind::kAcquired:
      case Kind::kAcquiredWeak:
        claim = kNoTask;
        break;
      case Kind::kWaitBegan:
        break;
    }
    claims[i] = claim;
  }
  return claims;
}

// Two neighbouring points decide about the time between them: the first says who held the lock after it, the second
// who held it before.
void HolderTimeline::walk_points() {
  const std::vector<TaskNo> claims = next_claims();
  TaskNo holder = kNoTask;  // after the previous point
  bool certain = false;     // nothing has happened since that hints at a change of hands
  bool contended = false;   // and it began with an acquisition that we saw
  std::int64_t since = 0;   // of that acquisition
  std::int64_t previous = 0;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const Point& point = points_[i];
    if (i > 0 && point.at_ns > previous) {
      TaskNo before = holder;
      HolderGap gap = HolderGap::kNone;
      if (!certain && claims[i] != kNoTask) {
        before = claims[i];
      } else if (point.kind == Kind::kReleased && point.task != holder) {
        before = kNoTask;
        gap = HolderGap::kUnseenChange;
      }  // else: the last sighting counts until the next one
      if (before == kNoTask && gap == HolderGap::kNone) gap = HolderGap::kNoEvidence;
      append(previous, point.at_ns, before, gap);
    }
    previous = point.at_ns;
    const bool is_acquisition = point.kind == Kind::kAcquired || point.kind == Kind::kAcquiredWeak;
    // A release by the very task that got it is proof enough, even when its owner field could not be read meanwhile.
    const bool ends_hold =
        point.kind == Kind::kReleased ? point.task == holder : is_acquisition && certain && point.task != holder;
    if (contended && ends_hold) hand_offs_.push_back({holder, since, point.at_ns});
    switch (point.kind) {
      case Kind::kAcquired:
      case Kind::kAcquiredWeak:
        holder = point.task;
        certain = point.kind == Kind::kAcquired;
        contended = true;
        since = point.at_ns;
        break;
      case Kind::kOwnerAt:
        if (holder != point.task || !certain) contended = false;
        holder = point.task;
        certain = true;
        break;
      case Kind::kReleased:
      case Kind::kReleasedWeak:
        // Until the next holder is seen: a lock that was handed over is not yet taken while its new owner wakes up.
        if (point.kind == Kind::kReleased || holder == kNoTask) holder = point.task;
        certain = contended = false;
        break;
      case Kind::kWaitBegan:
        if (holder == point.task) holder = kNoTask;
        certain = false;
        break;
    }
  }
}

void HolderTimeline::overlay_holds() {
  if (holds_.empty()) return;
  std::sort(holds_.begin(), holds_.end(), [](const Hold& a, const Hold& b) {
    return std::tie(a.begin_ns, a.end_ns, a.task) < std::tie(b.begin_ns, b.end_ns, b.task);
  });
  const std::vector<Segment> inferred = std::exchange(segments_, {});
  std::size_t next = 0;
  std::int64_t at =
      inferred.empty() ? holds_.front().begin_ns : std::min(inferred.front().begin_ns, holds_.front().begin_ns);
  // Copies what was inferred for [at, until).
  const auto copy_until = [&](std::int64_t until) {
    while (next < inferred.size() && at < until) {
      const Segment& segment = inferred[next];
      const std::int64_t begin = std::max(at, segment.begin_ns);
      const std::int64_t end = std::min(until, segment.end_ns);
      if (begin < end) append(begin, end, segment.holder, segment.gap);
      if (segment.end_ns > until) break;
      ++next;
    }
    at = std::max(at, until);
  };
  for (const Hold& hold : holds_) {
    // Of several holders at one time (readers) the one that came first is named.
    const std::int64_t begin = std::max(hold.begin_ns, at);
    if (hold.begin_ns > at) copy_until(hold.begin_ns);
    if (hold.end_ns <= begin) continue;
    append(begin, hold.end_ns, hold.task, HolderGap::kNone);
    at = hold.end_ns;
  }
  copy_until(INT64_MAX);
}

TaskNo HolderTimeline::holder_at(std::int64_t at_ns) const {
  const std::size_t i = first_segment_after(at_ns);
  return i < segments_.size() && segments_[i].begin_ns <= at_ns ? segments_[i].holder : kNoTask;
}

void HolderTimeline::append(std::int64_t begin_ns, std::int64_t end_ns, TaskNo holder, HolderGap gap) {
  if (!segments_.empty()) {
    Segment& last = segments_.back();
    if (last.end_ns == begin_ns && last.holder == holder && last.gap == gap) {
      last.end_ns = end_ns;
      return;
    }
  }
  segments_.push_back({begin_ns, end_ns, holder, gap});
}

// The first segment that ends after `at_ns`.
std::size_t HolderTimeline::first_segment_after(std::int64_t at_ns) const {
  const auto found = std::upper_bound(segments_.begin(), segments_.end(), at_ns,
                                      [](std::int64_t at, const Segment& segment) { return at < segment.end_ns; });
  return static_cast<std::size_t>(found - segments_.begin());
}

}  // namespace rtnlprof
