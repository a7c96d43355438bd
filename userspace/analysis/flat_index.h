// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace rtnlprof {

// Spreads the bits of a key over the whole word (splitmix64).
inline std::uint64_t mix_bits(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15U;
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31U);
}

struct MixHash {
  std::uint64_t operator()(std::uint64_t key) const { return mix_bits(key); }
};

// Numbers distinct keys 0, 1, 2, ... in the order of their arrival; what belongs to a key lies in a vector of the
// caller at that number. Open addressing with a dense key array: a hit costs one probe, and iteration is in order.
template <typename Key, typename Hash = MixHash>
class FlatIndex {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  // The number of `key`; a new key gets the next one.
  std::uint32_t insert(const Key& key) {
    if ((keys_.size() + 1) * 2 > slots_.size()) grow();
    std::size_t slot = Hash{}(key)&mask_;
    while (slots_[slot] != kNone) {
      if (keys_[slots_[slot]] == key) return slots_[slot];
      slot = (slot + 1) & mask_;
    }
    slots_[slot] = static_cast<std::uint32_t>(keys_.size());
    keys_.push_back(key);
    return slots_[slot];
  }

  // The number of `key`, or kNone.
  [[nodiscard]] std::uint32_t find(const Key& key) const {
    if (slots_.empty()) return kNone;
    std::size_t slot = Hash{}(key)&mask_;
    while (slots_[slot] != kNone && !(keys_[slots_[slot]] == key)) slot = (slot + 1) & mask_;
    return slots_[slot];
  }

  [[nodiscard]] std::size_t size() const { return keys_.size(); }
  [[nodiscard]] const Key& key(std::uint32_t number) const { return keys_[number]; }
  [[nodiscard]] const std::vector<Key>& keys() const { return keys_; }

 private:
  void grow() {
    const std::size_t size = slots_.empty() ? 64 : slots_.size() * 2;
    slots_.assign(size, kNone);
    mask_ = size - 1;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      std::size_t slot = Hash{}(keys_[i]) & mask_;
      while (slots_[slot] != kNone) slot = (slot + 1) & mask_;
      slots_[slot] = static_cast<std::uint32_t>(i);
    }
  }

  std::vector<Key> keys_;
  std::vector<std::uint32_t> slots_;
  std::size_t mask_ = 0;
};

// insert() and make `values` long enough for the result.
template <typename Index, typename Key, typename Value>
Value& value_at(Index& index, std::vector<Value>& values, const Key& key) {
  const std::uint32_t number = index.insert(key);
  if (number >= values.size()) values.resize(number + 1);
  return values[number];
}

}  // namespace rtnlprof
