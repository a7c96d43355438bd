// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/distribution.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rtnlprof {
namespace {

TEST(Distribution, NothingMeasuredHasNoPercentiles) {
  const Distribution empty;
  EXPECT_EQ(empty.count(), 0U);
  EXPECT_EQ(empty.total_ns(), 0U);
  EXPECT_EQ(empty.max_ns(), 0U);
  EXPECT_FALSE(empty.min_ns());
  EXPECT_FALSE(empty.mean_ns());
  EXPECT_FALSE(empty.percentile_ns(99));
  EXPECT_TRUE(empty.histogram().empty());
}

TEST(Distribution, PercentilesAreNearestRank) {
  Distribution dist;
  for (std::uint64_t value = 100; value >= 1; --value) dist.add(value);
  EXPECT_EQ(dist.percentile_ns(50), 50U);
  EXPECT_EQ(dist.percentile_ns(90), 90U);
  EXPECT_EQ(dist.percentile_ns(99), 99U);
  EXPECT_EQ(dist.percentile_ns(100), 100U);
  EXPECT_EQ(dist.percentile_ns(0.1), 1U);
  Distribution two;
  two.add(10);
  two.add(30);
  EXPECT_EQ(two.percentile_ns(50), 10U);
  EXPECT_EQ(two.percentile_ns(51), 30U);
  EXPECT_EQ(two.mean_ns(), 20U);
}

TEST(Distribution, MeanIsRounded) {
  Distribution dist;
  for (const std::uint64_t value : {1, 1, 3}) dist.add(value);
  EXPECT_EQ(dist.mean_ns(), 2U);  // 1.67
  dist.add(0);
  EXPECT_EQ(dist.mean_ns(), 1U);  // 1.25
}

TEST(Distribution, BarsEndAtPowersOfTwoAndDoNotCumulate) {
  Distribution dist;
  for (const std::uint64_t value : {0, 1, 2, 3, 4, 5, 8, 9}) dist.add(value);
  const std::vector<HistogramBucket> wanted{{1, 2}, {2, 1}, {4, 2}, {8, 2}, {16, 1}};
  EXPECT_EQ(dist.histogram(), wanted);
  Distribution far;
  far.add(3);
  far.add(17);
  EXPECT_EQ(far.histogram(), (std::vector<HistogramBucket>{{4, 1}, {8, 0}, {16, 0}, {32, 1}}));
}

TEST(Distribution, LargeOnesStayWithinOnePercent) {
  Distribution dist;
  std::vector<std::uint64_t> values;
  std::uint64_t state = 42;
  for (int i = 0; i < 100'000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    values.push_back(1000 + (state >> 34U));
    dist.add(values.back());
  }
  EXPECT_FALSE(dist.exact());
  std::sort(values.begin(), values.end());
  for (const double percent : {1.0, 50.0, 90.0, 99.0}) {
    const auto rank = static_cast<std::size_t>(percent * 1000);
    const auto exact = static_cast<double>(values[rank - 1]);
    EXPECT_NEAR(static_cast<double>(*dist.percentile_ns(percent)), exact, exact * 0.01) << percent;
  }
  EXPECT_EQ(dist.min_ns(), values.front());
  EXPECT_EQ(dist.max_ns(), values.back());
  EXPECT_EQ(dist.percentile_ns(100), values.back());
}

TEST(Distribution, MergingEqualsAdding) {
  Distribution all;
  Distribution even;
  Distribution odd;
  for (std::uint64_t value = 0; value < 20'000; ++value) {
    all.add(value * 37);
    (value % 2 == 0 ? even : odd).add(value * 37);
  }
  even.merge(odd);
  even.merge({});
  EXPECT_EQ(even.count(), all.count());
  EXPECT_EQ(even.total_ns(), all.total_ns());
  EXPECT_EQ(even.percentile_ns(99), all.percentile_ns(99));
  EXPECT_EQ(even.histogram(), all.histogram());
  Distribution small;
  small.add(7);
  Distribution merged;
  merged.merge(small);
  EXPECT_EQ(merged.min_ns(), 7U);
  EXPECT_TRUE(merged.exact());
}

TEST(Distribution, TakesTheLargestValues) {
  Distribution dist;
  for (int i = 0; i < 9000; ++i) dist.add(UINT64_MAX);
  EXPECT_EQ(dist.total_ns(), UINT64_MAX);
  EXPECT_EQ(dist.percentile_ns(50), UINT64_MAX);
}

}  // namespace
}  // namespace rtnlprof
