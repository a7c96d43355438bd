// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace rtnlprof {

// One bar of a histogram: how many values are <= le_ns and above the previous bar's le_ns (not cumulative).
struct HistogramBucket {
  std::uint64_t le_ns = 0;  // a power of two
  std::uint64_t count = 0;

  bool operator==(const HistogramBucket&) const = default;
};

// Durations in nanoseconds, summed up. Percentiles are exact (nearest rank) up to kExactLimit values and within 1 %
// above; count, total, min, max and the histogram are always exact. Memory: 8 bytes a value up to the limit, then
// constant. The result does not depend on the order of add() and merge(). Not thread-safe.
class Distribution {
 public:
  static constexpr std::size_t kExactLimit = 8192;

  void add(std::uint64_t value_ns);
  void merge(const Distribution& other);

  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t total_ns() const { return total_ns_; }  // saturates at UINT64_MAX
  [[nodiscard]] std::uint64_t max_ns() const { return max_ns_; }      // 0 when empty
  // Nothing when empty: there is no such value.
  [[nodiscard]] std::optional<std::uint64_t> min_ns() const;
  [[nodiscard]] std::optional<std::uint64_t> mean_ns() const;  // rounded to the nearest nanosecond
  // Nearest rank: the smallest value that at least `percent` of all values do not exceed. 0 < percent <= 100.
  [[nodiscard]] std::optional<std::uint64_t> percentile_ns(double percent) const;
  // From the first to the last bar that is not empty, without gaps.
  [[nodiscard]] std::vector<HistogramBucket> histogram() const;
  // The values themselves, in no particular order, while there are at most kExactLimit; else empty.
  [[nodiscard]] const std::vector<std::uint64_t>& samples() const { return samples_; }
  [[nodiscard]] bool exact() const { return bins_.empty(); }

 private:
  void switch_to_bins();

  std::uint64_t count_ = 0;
  std::uint64_t total_ns_ = 0;
  std::uint64_t min_ns_ = 0;
  std::uint64_t max_ns_ = 0;
  std::vector<std::uint64_t> samples_;
  std::vector<std::uint32_t> bins_;  // log-linear, 128 per power of two; empty while exact
  std::vector<std::uint64_t> bars_;  // by exponent; grown to what is used
};

}  // namespace rtnlprof
