// SPDX-License-Identifier: BSD-2-Clause
#include "capture/translator.h"

#include <cstring>

namespace rtnlprof {
namespace {

template <typename T>
bool read_record(std::span<const std::byte> record, T& into) {
  if (record.size() < sizeof(T)) return false;
  std::memcpy(&into, record.data(), sizeof(T));
  return true;
}

template <typename T>
std::vector<T> read_entries(std::span<const std::byte> record, std::uint32_t count) {
  const std::size_t room = (record.size() - sizeof(rp_stack)) / sizeof(T);
  std::vector<T> entries(std::min<std::size_t>(count, room));
  if (!entries.empty()) std::memcpy(entries.data(), record.data() + sizeof(rp_stack), entries.size() * sizeof(T));
  return entries;
}

}  // namespace

char state_letter(std::uint32_t state) {
  constexpr std::uint32_t kInterruptible = 0x1;
  constexpr std::uint32_t kUninterruptible = 0x2;
  constexpr std::uint32_t kStopped = 0x4;
  constexpr std::uint32_t kTraced = 0x8;
  constexpr std::uint32_t kDead = 0x10 | 0x80;
  constexpr std::uint32_t kZombie = 0x20;
  constexpr std::uint32_t kParked = 0x40;
  constexpr std::uint32_t kNoLoad = 0x400;
  constexpr std::uint32_t kRtlockWait = 0x1000;
  if (state == 0) return 'R';
  if ((state & kRtlockWait) != 0) return 'L';
  if ((state & kUninterruptible) != 0) return (state & kNoLoad) != 0 ? 'I' : 'D';
  if ((state & kInterruptible) != 0) return 'S';
  if ((state & kStopped) != 0) return 'T';
  if ((state & kTraced) != 0) return 't';
  if ((state & kZombie) != 0) return 'Z';
  if ((state & kDead) != 0) return 'X';
  if ((state & kParked) != 0) return 'P';
  return '?';
}

LockKind lock_kind(std::uint32_t flags) {
  const bool write = (flags & RP_LCB_WRITE) != 0;
  if ((flags & RP_LCB_PERCPU) != 0) return write ? LockKind::kPercpuRwsemWrite : LockKind::kPercpuRwsemRead;
  if ((flags & RP_LCB_MUTEX) != 0) return LockKind::kMutex;
  if ((flags & RP_LCB_READ) != 0) return LockKind::kRwsemRead;
  if (write) return LockKind::kRwsemWrite;
  if ((flags & RP_LCB_RT) != 0) return LockKind::kRtmutex;
  return LockKind::kUnknown;
}

void Translator::add_batch(std::span<const std::byte> batch, bool last) {
  std::vector<Record> events;
  while (batch.size() >= sizeof(std::uint32_t)) {
    std::uint32_t size = 0;
    std::memcpy(&size, batch.data(), sizeof(size));
    batch = batch.subspan(sizeof(size));
    if (size > batch.size()) break;
    const Record record = batch.subspan(0, size);
    batch = batch.subspan(size);
    if (!define(record)) events.push_back(record);
  }
  // What waited has now seen one more batch of definitions.
  std::vector<std::vector<std::byte>> waited;
  waited.swap(waiting_);
  for (const std::vector<std::byte>& record : waited) send(record, true);
  for (const Record record : events) {
    if (!send(record, last)) waiting_.emplace_back(record.begin(), record.end());
  }
  // Events of a task may come through another ring one batch later than its exit.
  for (const rp_exit& record : earlier_exits_) exit_task(record);
  earlier_exits_.swap(exits_);
  exits_.clear();
  if (last) {
    for (const rp_exit& record : earlier_exits_) exit_task(record);
    earlier_exits_.clear();
  }
}

bool Translator::define(Record record) {
  rp_header header{};
  if (!read_record(record, header)) return true;
  switch (header.type) {
    case RP_TASK: {
      rp_task task{};
      if (read_record(record, task)) tasks_.add(task);
      return true;
    }
    case RP_KERNEL_STACK: {
      rp_stack stack{};
      if (!read_record(record, stack)) return true;
      code_.add_kernel_stack(stack.hash, read_entries<std::uint64_t>(record, stack.count),
                             (stack.flags & RP_SLEEP_FULL_STACK) != 0);
      return true;
    }
    default:
      return false;
  }
}

bool Translator::send(Record record, bool force) {
  rp_header header{};
  if (!read_record(record, header)) return true;
  switch (header.type) {
    case RP_SLEEP: {
      rp_sleep sleep{};
      return !read_record(record, sleep) || send_sleep(sleep, force);
    }
    case RP_WAIT: {
      rp_wait wait{};
      return !read_record(record, wait) || send_wait(wait, force);
    }
    case RP_USER_STACK: {  // names the task, so it is not a definition of the first rank
      rp_stack stack{};
      if (!read_record(record, stack)) return true;
      if (!tasks_.known(header.task_id) && !force) return false;
      const auto frames = read_entries<rp_user_frame>(record, stack.count);
      code_.add_user_stack(stack.hash, tasks_.pid_of(header.task_id), frames);
      for (const rp_user_frame& frame : frames) {
        if (frame.status != 1 && frame.offset_or_ip != 0) tasks_.want_maps(header.task_id);
      }
      return true;
    }
    case RP_COMM: {
      rp_comm comm{};
      if (!read_record(record, comm)) return true;
      if (!tasks_.known(header.task_id) && !force) return false;
      tasks_.set_comm(comm);
      return true;
    }
    case RP_EXIT: {
      rp_exit exit{};
      if (read_record(record, exit)) exits_.push_back(exit);
      return true;
    }
    case RP_PAIR: {
      rp_pair_record pair{};
      if (read_record(record, pair)) wakeups_.add(pair);
      return true;
    }
    default:
      return true;
  }
}

void Translator::exit_task(const rp_exit& record) {
  tasks_.exited(record);
  wakeups_.task_exited(record.header.task_id);
}

bool Translator::send_sleep(const rp_sleep& record, bool force) {
  const auto kernel = code_.find(record.kernel_stack);
  const auto user = code_.find(record.user_stack);
  if (!force && (!kernel || !user || !tasks_.known(record.header.task_id) || !tasks_.known(record.waker_id))) {
    return false;
  }
  Sleep event;
  event.task = record.header.task_id;
  event.out_ns = static_cast<std::int64_t>(record.out_ns);
  event.wake_ns = static_cast<std::int64_t>(record.wake_ns);
  event.in_ns = static_cast<std::int64_t>(record.in_ns);
  event.state = state_letter(record.state);
  event.syscall = record.syscall;
  event.kernel_stack = kernel.value_or(0);
  event.user_stack = user.value_or(0);
  if (event.user_stack == 0 && record.user_ip != 0) {
    event.user_stack = code_.user_address(tasks_.pid_of(event.task), record.user_ip);
    tasks_.want_maps(event.task);
  }
  event.waker.task = record.waker_id;
  event.waker.context = static_cast<WakerContext>(record.waker_context);
  event.started_before_recording = (record.flags & RP_SLEEP_BEFORE) != 0;
  sink_.on_sleep(event);
  ++events_;
  return true;
}

bool Translator::send_wait(const rp_wait& record, bool force) {
  const auto kernel = code_.find(record.kernel_stack);
  const auto user = code_.find(record.user_stack);
  if (!force && (!kernel || !user || !tasks_.known(record.header.task_id) || !tasks_.known(record.owner_id))) {
    return false;
  }
  introduce_lock(record.lock);
  Wait event;
  event.task = record.header.task_id;
  event.lock = record.lock;
  event.kind = lock_kind(record.contention_flags);
  event.begin_ns = static_cast<std::int64_t>(record.begin_ns);
  event.end_ns = static_cast<std::int64_t>(record.end_ns);
  event.spin_ns = record.spin_ns;
  event.result = record.result;
  event.owner = record.owner_id;
  event.owner_is_one_of_many = (record.owner_flags & RP_OWNER_ONE_OF_MANY) != 0;
  event.kernel_stack = kernel.value_or(0);
  event.user_stack = user.value_or(0);
  sink_.on_wait(event);
  ++events_;
  return true;
}

void Translator::introduce_lock(std::uint64_t address) {
  if (address == 0 || symbols_ == nullptr || !introduced_locks_.insert(address).second) return;
  const auto match = symbols_->find(address);
  if (!match) return;
  std::string name(match->name);
  if (match->offset != 0) name += "+" + std::to_string(match->offset);
  sink_.on_lock({address, std::move(name), "kallsyms"});
}

void Translator::name_lock(std::uint64_t address, const std::string& name, const std::string& source) {
  introduced_locks_.insert(address);
  sink_.on_lock({address, name, source});
}

}  // namespace rtnlprof
