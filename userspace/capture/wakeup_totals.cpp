// SPDX-License-Identifier: BSD-2-Clause
#include "capture/wakeup_totals.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <vector>

namespace rtnlprof {
namespace {

void accumulate(rp_pair& total, const rp_pair& part) {
  total.count += part.count;
  total.sleeps += part.sleeps;
  total.sleep_ns += part.sleep_ns;
  total.max_ns = std::max(total.max_ns, part.max_ns);
}

template <typename Visit>
void for_each_pair(int fd, Visit visit) {
  constexpr __u32 kBatch = 4096;
  std::vector<rp_pair_key> keys(kBatch);
  std::vector<rp_pair> values(kBatch);
  __u32 position = 0;
  bool first = true;
  while (true) {
    __u32 count = kBatch;
    const int err =
        bpf_map_lookup_batch(fd, first ? nullptr : &position, &position, keys.data(), values.data(), &count, nullptr);
    first = false;
    if (err != 0 && err != -ENOENT) return;
    for (__u32 i = 0; i < count; ++i) visit(keys[i], values[i]);
    if (err != 0) return;
  }
}

}  // namespace

void WakeupTotals::add(const rp_pair_record& record) {
  accumulate(totals_[{record.header.task_id, record.waker_id, record.context}].from_records, record.pair);
}

void WakeupTotals::report(int pairs_fd, std::span<const rp_slot> slots, bool final, EventSink& sink) {
  std::map<Key, rp_pair> now;
  // The map first: a slot that spills meanwhile is then missed this time rather than counted twice.
  for_each_pair(pairs_fd, [&](const rp_pair_key& key, const rp_pair& pair) {
    accumulate(now[{key.task_id, key.waker_id, key.context}], pair);
  });
  for (const rp_slot& slot : slots) {
    if (slot.tid == 0) continue;
    for (const rp_cached_pair& cached : slot.pairs) {
      if (cached.count == 0) continue;
      accumulate(now[{slot.task_id, cached.waker_id, cached.context}],
                 {cached.count, cached.sleeps, cached.sleep_ns, cached.max_ns});
    }
    if (final && slot.wake_pending != 0) {
      accumulate(now[{slot.task_id, slot.waker_id, slot.waker_context}], {1, 0, 0, 0});
    }
  }
  for (const auto& [key, total] : totals_) accumulate(now[key], total.from_records);

  for (const auto& [key, pair] : now) {
    rp_pair& reported = totals_[key].reported;
    if (pair.count < reported.count || pair.sleeps < reported.sleeps || pair.sleep_ns < reported.sleep_ns) continue;
    Wakeups event;
    event.task = std::get<0>(key);
    event.waker.task = std::get<1>(key);
    event.waker.context = static_cast<WakerContext>(std::get<2>(key));
    event.count = pair.count - reported.count;
    event.sleeps = pair.sleeps - reported.sleeps;
    event.sleep_ns = pair.sleep_ns - reported.sleep_ns;
    event.max_ns = pair.max_ns;
    if (event.count == 0 && event.sleep_ns == 0) continue;
    reported = pair;
    sink.on_wakeups(event);
  }
  if (!final) forget_exited(pairs_fd);
}

void WakeupTotals::forget_exited(int pairs_fd) {
  if (exited_.empty()) return;
  for (auto it = totals_.begin(); it != totals_.end();) {
    if (!exited_.contains(std::get<0>(it->first))) {
      ++it;
      continue;
    }
    const rp_pair_key key{std::get<0>(it->first), std::get<1>(it->first), std::get<2>(it->first)};
    bpf_map_delete_elem(pairs_fd, &key);
    it = totals_.erase(it);
  }
  exited_.clear();
}

}  // namespace rtnlprof
