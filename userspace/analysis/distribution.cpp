// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/distribution.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rtnlprof {
namespace {

// Log-linear bins: values below 128 have a bin each; above, every power of two is cut into 128 equal bins, so that a
// bin's midpoint is within 1/256 of every value in it.
constexpr unsigned kSubBits = 7;
constexpr std::size_t kSubBins = 1U << kSubBits;
constexpr std::size_t kBinCount = (64 - kSubBits + 1) * kSubBins;

std::size_t bin_of(std::uint64_t value) {
  if (value < kSubBins) return value;
  const auto exponent = static_cast<unsigned>(std::bit_width(value)) - 1;
  const std::size_t sub = (value >> (exponent - kSubBits)) & (kSubBins - 1);
  return (exponent - kSubBits + 1) * kSubBins + sub;
}

std::uint64_t middle_of(std::size_t bin) {
  if (bin < kSubBins) return bin;
  const std::size_t shift = bin / kSubBins - 1;
  const std::uint64_t low = (kSubBins + bin % kSubBins) << shift;
  return low + ((std::uint64_t{1} << shift) >> 1U);
}

// Smallest k with value <= 2^k.
std::size_t bar_of(std::uint64_t value) { return value <= 1 ? 0 : static_cast<std::size_t>(std::bit_width(value - 1)); }

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

// Counters are 32 bits wide; a bin that full no longer moves a percentile.
void add_to_bin(std::uint32_t& bin, std::uint64_t count) {
  bin = static_cast<std::uint32_t>(std::min<std::uint64_t>(UINT32_MAX, std::uint64_t{bin} + count));
}

}  // namespace

void Distribution::add(std::uint64_t value_ns) {
  min_ns_ = count_ == 0 ? value_ns : std::min(min_ns_, value_ns);
  max_ns_ = std::max(max_ns_, value_ns);
  ++count_;
  total_ns_ = saturating_add(total_ns_, value_ns);
  const std::size_t bar = bar_of(value_ns);
  if (bars_.size() <= bar) bars_.resize(bar + 1);
  ++bars_[bar];
  if (bins_.empty() && samples_.size() == kExactLimit) switch_to_bins();
  if (bins_.empty()) {
    samples_.push_back(value_ns);
  } else {
    add_to_bin(bins_[bin_of(value_ns)], 1);
  }
}

void Distribution::merge(const Distribution& other) {
  if (other.count_ == 0) return;
  min_ns_ = count_ == 0 ? other.min_ns_ : std::min(min_ns_, other.min_ns_);
  max_ns_ = std::max(max_ns_, other.max_ns_);
  count_ += other.count_;
  total_ns_ = saturating_add(total_ns_, other.total_ns_);
  if (bars_.size() < other.bars_.size()) bars_.resize(other.bars_.size());
  for (std::size_t i = 0; i < other.bars_.size(); ++i) bars_[i] += other.bars_[i];
  if (bins_.empty() && (!other.exact() || samples_.size() + other.samples_.size() > kExactLimit)) switch_to_bins();
  if (bins_.empty()) {
    samples_.insert(samples_.end(), other.samples_.begin(), other.samples_.end());
    return;
  }
  for (const std::uint64_t value : other.samples_) add_to_bin(bins_[bin_of(value)], 1);
  for (std::size_t i = 0; i < other.bins_.size(); ++i) add_to_bin(bins_[i], other.bins_[i]);
}

std::optional<std::uint64_t> Distribution::min_ns() const {
  if (count_ == 0) return std::nullopt;
  return min_ns_;
}

std::optional<std::uint64_t> Distribution::mean_ns() const {
  if (count_ == 0) return std::nullopt;
  const std::uint64_t quotient = total_ns_ / count_;
  return quotient + (total_ns_ % count_ >= count_ - count_ / 2 ? 1 : 0);
}

std::optional<std::uint64_t> Distribution::percentile_ns(double percent) const {
  if (count_ == 0) return std::nullopt;
  const double exact_rank = std::ceil(percent / 100.0 * static_cast<double>(count_) - 1e-9);
  const auto rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::max(exact_rank, 1.0)), 1, count_);
  if (bins_.empty()) {
    std::vector<std::uint64_t> values = samples_;
    const auto nth = values.begin() + static_cast<std::ptrdiff_t>(rank - 1);
    std::nth_element(values.begin(), nth, values.end());
    return *nth;
  }
  if (rank == count_) return max_ns_;
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    seen += bins_[i];
    if (seen >= rank) return std::clamp(middle_of(i), min_ns_, max_ns_);
  }
  return max_ns_;
}

std::vector<HistogramBucket> Distribution::histogram() const {
  std::vector<HistogramBucket> bars;
  for (std::size_t i = 0; i < bars_.size(); ++i) {
    if (bars.empty() && bars_[i] == 0) continue;
    // 2^64 does not fit; durations never get there.
    bars.push_back({i < 64 ? std::uint64_t{1} << i : UINT64_MAX, bars_[i]});
  }
  return bars;
}

void Distribution::switch_to_bins() {
  bins_.assign(kBinCount, 0);
  for (const std::uint64_t value : samples_) add_to_bin(bins_[bin_of(value)], 1);
  samples_.clear();
  samples_.shrink_to_fit();
}

}  // namespace rtnlprof
