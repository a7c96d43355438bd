// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/lock_names.h"

#include <algorithm>

namespace rtnlprof {
namespace {

const char* family_name(LockKind kind, LockFrame frame) {
  switch (kind == LockKind::kUnknown ? kind_of(frame) : kind) {
    case LockKind::kMutex:
      return "mutex";
    case LockKind::kRwsemRead:
    case LockKind::kRwsemWrite:
      return "rwsem";
    case LockKind::kRtmutex:
      return "rtmutex";
    case LockKind::kPercpuRwsemRead:
    case LockKind::kPercpuRwsemWrite:
      return "percpu_rwsem";
    case LockKind::kUnknown:
      break;
  }
  return frame == LockFrame::kSemaphore ? "semaphore" : "lock";
}

// Netlink protocols other than NETLINK_ROUTE have a cb_mutex of their own, so dumps prove nothing about an address.
bool takes_only_rtnl(const LockEvidence& evidence) {
  return evidence.rtnl_waiter && evidence.site != "netlink_dump" && evidence.site != "__netlink_dump_start";
}

}  // namespace

LockKind kind_of(LockFrame frame) {
  switch (frame) {
    case LockFrame::kMutex:
    case LockFrame::kRtnl:
      return LockKind::kMutex;
    case LockFrame::kRwsemRead:
      return LockKind::kRwsemRead;
    case LockFrame::kRwsemWrite:
    case LockFrame::kRwsem:
      return LockKind::kRwsemWrite;
    case LockFrame::kRtmutex:
      return LockKind::kRtmutex;
    case LockFrame::kPercpuRwsemRead:
      return LockKind::kPercpuRwsemRead;
    case LockFrame::kPercpuRwsemWrite:
      return LockKind::kPercpuRwsemWrite;
    case LockFrame::kNone:
    case LockFrame::kSemaphore:
      break;
  }
  return LockKind::kUnknown;
}

const char* kind_name(LockKind kind, LockFrame frame) {
  switch (kind == LockKind::kUnknown ? kind_of(frame) : kind) {
    case LockKind::kMutex:
      return "mutex";
    case LockKind::kRwsemRead:
      return "rwsem_read";
    case LockKind::kRwsemWrite:
      return "rwsem_write";
    case LockKind::kRtmutex:
      return "rtmutex";
    case LockKind::kPercpuRwsemRead:
      return "percpu_rwsem_read";
    case LockKind::kPercpuRwsemWrite:
      return "percpu_rwsem_write";
    case LockKind::kUnknown:
      break;
  }
  return frame == LockFrame::kSemaphore ? "semaphore" : "unknown";
}

std::string call_site_name(LockKind kind, LockFrame frame, const std::string& site) {
  return std::string(family_name(kind, frame)) + " at " + (site.empty() ? "unknown call site" : site);
}

LockNo LockNames::number(std::uint64_t address) {
  if (address == 0) return kNoLock;
  const LockNo no = addresses_.insert(address);
  if (no == locks_.size()) {
    locks_.emplace_back();
    locks_.back().address = address;
    votes_.emplace_back();
  }
  return no;
}

void LockNames::define(const rtnlprof::Lock& lock) {
  const LockNo no = number(lock.address);
  if (no == kNoLock) return;
  locks_[no].name = lock.name;
  locks_[no].source = lock.source;
  any_named_ = true;
}

void LockNames::observe(LockNo lock, LockKind kind, const LockEvidence& evidence, std::uint64_t count) {
  Votes& votes = votes_[lock];
  if (locks_[lock].kind == LockKind::kUnknown) locks_[lock].kind = kind;
  if (votes.frame == LockFrame::kNone) votes.frame = evidence.frame;
  if (evidence.rtnl) votes.rtnl += count;
  if (takes_only_rtnl(evidence)) votes.rtnl_callers += count;
  if (evidence.site.empty()) return;
  votes.sites[evidence.site] += count;
  const auto [place, is_new] = by_call_site_.try_emplace(call_site_name(kind, evidence.frame, evidence.site), lock);
  if (!is_new && place->second != lock) place->second = kNoLock;
}

void LockNames::learn_rtnl() {
  LockNo best = kNoLock;
  bool proven = false;
  for (LockNo no = 0; no < locks_.size(); ++no) {
    if (locks_[no].name == kRtnlName) return;
    if (!locks_[no].name.empty()) continue;
    if (votes_[no].rtnl > 0) {
      locks_[no].name = kRtnlName;
      locks_[no].source = "learned from stack";
      proven = true;
    }
    if (votes_[no].rtnl_callers > (best == kNoLock ? 0 : votes_[best].rtnl_callers)) best = no;
  }
  if (proven || best == kNoLock) return;
  locks_[best].name = kRtnlName;
  locks_[best].source = "learned from its waiters' call sites";
}

void LockNames::resolve() {
  learn_rtnl();
  for (LockNo no = 0; no < locks_.size(); ++no) {
    Lock& lock = locks_[no];
    const auto& sites = votes_[no].sites;
    // By number of waiters, not by time: steadier from run to run. On a tie the first by name.
    const auto most =
        std::max_element(sites.begin(), sites.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != sites.end()) lock.site = most->first;
    if (lock.name.empty()) {
      lock.name = call_site_name(lock.kind, votes_[no].frame, lock.site);
      lock.source = "call site";
    }
    if (is_synthetic_address(lock.address)) continue;
    const auto [place, is_new] = by_name_.try_emplace(lock.name, no);
    if (!is_new) place->second = kNoLock;
  }
}

LockNo LockNames::canonical(LockNo number) {
  if (number == kNoLock || !is_synthetic_address(locks_[number].address)) return number;
  const Lock lock = locks_[number];
  return add_without_address(lock.name, lock.source, lock.site, lock.kind);
}

LockNo LockNames::by_evidence(LockKind kind, const LockEvidence& evidence) {
  if (evidence.rtnl || evidence.rtnl_waiter) return by_name(kRtnlName);
  const std::string name = call_site_name(kind, evidence.frame, evidence.site);
  const auto site = by_call_site_.find(name);
  if (site != by_call_site_.end() && site->second != kNoLock) return canonical(site->second);
  return add_without_address(name, "call site", evidence.site, kind);
}

LockNo LockNames::by_name(const std::string& name) {
  return add_without_address(name, "stack", "", LockKind::kUnknown);
}

// One lock of that name: the one with an address if there is just one such, else one without.
LockNo LockNames::add_without_address(const std::string& name, const std::string& source, const std::string& site,
                                      LockKind kind) {
  const auto [place, is_new] = by_name_.try_emplace(name, kNoLock);
  if (place->second != kNoLock) return place->second;
  place->second = static_cast<LockNo>(locks_.size());
  locks_.push_back({0, name, source, site, kind});
  votes_.emplace_back();
  return place->second;
}

}  // namespace rtnlprof
