// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/holder_timeline.h"

#include <gtest/gtest.h>

#include <string>

namespace rtnlprof {
namespace {

constexpr TaskNo kA = 1;
constexpr TaskNo kB = 2;
constexpr TaskNo kC = 3;

// "1:100 ?:20": holder and length of each part; ? unknown, ! changed hands unseen.
std::string split(const HolderTimeline& timeline, std::int64_t begin, std::int64_t end) {
  std::string text;
  std::size_t cursor = 0;
  timeline.split(begin, end, cursor, [&](const HolderTimeline::Segment& part) {
    if (!text.empty()) text += ' ';
    text += part.holder != kNoTask ? std::to_string(part.holder) : part.gap == HolderGap::kUnseenChange ? "!" : "?";
    text += ":" + std::to_string(part.end_ns - part.begin_ns);
  });
  return text;
}

TEST(HolderTimeline, NoEvidenceIsSaid) {
  HolderTimeline timeline;
  timeline.build();
  EXPECT_EQ(split(timeline, 10, 30), "?:20");
  EXPECT_EQ(split(timeline, 10, 10), "?:0");
  EXPECT_EQ(timeline.holder_at(10), kNoTask);
}

TEST(HolderTimeline, OwnerAtBeginUntilTheNextWaiterGetsIt) {
  HolderTimeline timeline;  // C holds; A waits [0,100), B waits [10,200)
  timeline.owner_at(0, kC);
  timeline.acquired(100, kA, false);
  timeline.owner_at(10, kC);
  timeline.acquired(200, kB, false);
  timeline.build();
  EXPECT_EQ(split(timeline, 0, 100), "3:100");
  EXPECT_EQ(split(timeline, 10, 200), "3:90 1:100");
  ASSERT_EQ(timeline.hand_offs().size(), 1U);
  EXPECT_EQ(timeline.hand_offs()[0].task, kA);
  EXPECT_EQ(timeline.hand_offs()[0].released_ns - timeline.hand_offs()[0].acquired_ns, 100);
}

TEST(HolderTimeline, TheWakerHeldItUntilItWoke) {
  HolderTimeline timeline;  // A waits [0,100), the owner could not be read, C woke it at 95
  timeline.wait_began(0, kA);
  timeline.released(95, kC, false);
  timeline.acquired(100, kA, false);
  timeline.build();
  EXPECT_EQ(split(timeline, 0, 100), "3:100");
}

TEST(HolderTimeline, AnUnseenChangeIsNotGuessed) {
  HolderTimeline timeline;  // B had it at the begin, C released it at the end
  timeline.owner_at(0, kB);
  timeline.released(100, kC, false);
  timeline.acquired(100, kA, false);
  timeline.build();
  EXPECT_EQ(split(timeline, 0, 100), "!:100");
}

TEST(HolderTimeline, AWeakReleaseDoesNotContradictAnOwner) {
  HolderTimeline timeline;
  timeline.owner_at(0, kB);
  timeline.released(100, kC, true);
  timeline.acquired(100, kA, false);
  timeline.build();
  EXPECT_EQ(split(timeline, 0, 100), "2:100");
}

TEST(HolderTimeline, AWaiterDoesNotWaitForItself) {
  HolderTimeline timeline;  // A got it at 100 and waits again at 150
  timeline.wait_began(0, kA);
  timeline.acquired(100, kA, false);
  timeline.wait_began(150, kA);
  timeline.acquired(180, kA, false);
  timeline.build();
  EXPECT_EQ(split(timeline, 150, 180), "?:30");
}

TEST(HolderTimeline, ASelfDeadlockNamesItself) {
  HolderTimeline timeline;
  timeline.owner_at(0, kA);
  timeline.build();
  EXPECT_EQ(timeline.holder_at(0), kNoTask);  // nothing after the only sighting
  HolderTimeline longer;
  longer.owner_at(0, kA);
  longer.owner_at(100, kA);
  longer.build();
  EXPECT_EQ(split(longer, 0, 100), "1:100");
}

TEST(HolderTimeline, HoldsOverrideWhatIsInferred) {
  HolderTimeline timeline;
  timeline.owner_at(0, kB);
  timeline.acquired(100, kA, false);
  timeline.held(20, 60, kC);
  timeline.build();
  EXPECT_EQ(split(timeline, 0, 100), "2:20 3:80");
  EXPECT_EQ(timeline.holder_at(30), kC);
}

TEST(HolderTimeline, OverlappingHoldsNameTheFirst) {
  HolderTimeline timeline;  // two readers
  timeline.held(0, 50, kA);
  timeline.held(20, 80, kB);
  timeline.build();
  EXPECT_EQ(split(timeline, 0, 80), "1:50 2:30");
}

TEST(HolderTimeline, PartsAlwaysAddUp) {
  HolderTimeline timeline;
  timeline.owner_at(50, kA);
  timeline.owner_at(60, kB);
  timeline.build();
  EXPECT_EQ(split(timeline, 0, 100), "?:50 1:10 ?:40");
}

TEST(HolderTimeline, InferredAcquisitionsYieldToTheNextRelease) {
  HolderTimeline timeline;  // A and B sleep for the same lock, C wakes them one after the other
  timeline.wait_began(0, kA);
  timeline.wait_began(10, kB);
  timeline.released(100, kC, false);
  timeline.acquired(100, kA, true);
  timeline.wait_began(120, kA);
  timeline.released(200, kC, false);
  timeline.acquired(200, kB, true);
  timeline.build();
  EXPECT_EQ(split(timeline, 10, 200), "3:190");
}

}  // namespace
}  // namespace rtnlprof
