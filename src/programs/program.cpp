// SPDX-License-Identifier: Apache-2.0
#include "programs/program.hpp"

#include <algorithm>
#include <utility>

#include "core/model/errors.hpp"
#include "programs/futex.hpp"
#include "programs/worker_words.hpp"

namespace gpushare::programs {
namespace {

/// A program can write any numbers: its credit between two polls is limited to this.
constexpr std::uint64_t most_at_once_ns = 3'600'000'000'000;

constexpr Duration most_ever = std::chrono::hours(100 * 365 * 24);

/// Marks come every 200 us of a stream's work where others are there.
constexpr Duration most_without_mark(250'000);

/// The assumed duration of a program's first piece of work.
constexpr std::int64_t first_piece_ns = 100'000'000;

/// The interval at which wait_for_piece() checks whether it is to end: a hostile program may intercept the wake-up.
constexpr std::uint64_t longest_wait_ns = 200'000'000;

daemon::SharedMemory checked(daemon::SharedMemory memory) {
  require(memory.bytes().size() == sizeof(ProgramPage),
          "a program's page has " + std::to_string(memory.bytes().size()) + " bytes and should have " +
              std::to_string(sizeof(ProgramPage)) + ": install the same release of gpushare for both");
  const auto& page = *reinterpret_cast<const ProgramPage*>(memory.bytes().data());
  require(page.magic == page_magic && page.version == page_version,
          "this is no page of a program, or one of another release of gpushare");
  return memory;
}

}  // namespace

Program::Program(daemon::SharedMemory memory, GangMember gang,
                 std::shared_ptr<const daemon::SessionApplication> application)
    : memory_(checked(std::move(memory))),
      tasks_(page()),
      gang_(std::move(gang)),
      application_(std::move(application)),
      seen_(most_processes),
      usual_piece_ns_(first_piece_ns) {}

Work Program::poll() {
  Work work;
  Duration added{};
  std::uint64_t block_times = 0;
  const bool is_gang = gang_.gpus() > 1;
  for (std::size_t number = 0; number < most_processes; ++number) {
    ProcessSlot& slot = page().processes[number];
    SeenProcess& seen = seen_[number];
    const std::int32_t pid = slot.pid.load(std::memory_order_acquire);
    if (pid != seen.pid) {
      seen.pid = pid;
      seen.streams = {};
    }
    if (pid == 0) continue;
    const std::uint64_t of_slot = slot.block_times.load();
    block_times += of_slot - std::exchange(seen.block_times, of_slot);
    work.is_awaited |= slot.waiting.load() != 0;
    const Work own = poll(slot, seen);
    for (const auto& [all, one] :
         {std::pair(&added, own.launched), std::pair(&work.under_way, own.under_way), std::pair(&work.going, own.going),
          std::pair(&work.beyond_marks, own.beyond_marks)}) {
      *all = is_gang ? std::max(*all, one) : *all + one;
    }
  }
  launched_ = std::min(launched_ + std::min(added, Duration(most_at_once_ns)), most_ever);
  work.launched = launched_;
  note_blocks(std::min(added, Duration(most_at_once_ns)), block_times);
  return work;
}

/// Launched since the last time.
Work Program::poll(ProcessSlot& slot, SeenProcess& seen) {
  Work work;
  const std::size_t streams = std::min<std::size_t>(slot.streams.load(), most_streams);
  for (std::size_t stream = 0; stream < streams; ++stream) {
    SeenStream& before = seen.streams[stream];
    const std::uint64_t ended = slot.progress[stream].ended.load(std::memory_order_acquire);
    const std::uint64_t launched = slot.progress[stream].launched.load(std::memory_order_acquire);
    if (launched < before.launched) before = {};  // another process has the place, and had not cleared it yet
    if (launched > before.launched) {
      work.launched += Duration(std::min(launched - before.launched, most_at_once_ns));
      before.launched = launched;
    }
    before.ended = std::clamp(ended, before.ended, before.launched);
    const Duration rest(std::min(before.launched - before.ended, most_at_once_ns));
    work.under_way += rest;
    if (slot.progress[stream].stopped.load() != 0) continue;
    work.going += rest;
    work.beyond_marks += std::max(rest - most_without_mark, Duration{});
  }
  return work;
}

/// The numbers are not of one moment, and need not be true.
void Program::note_blocks(Duration work, std::uint64_t block_times) {
  constexpr double enough_ns = 2e7;
  constexpr double forgotten_from_ns = 2e8;
  constexpr double longest_ns = 1e9;
  recent_.work_ns += nanoseconds(work);
  recent_.block_times += std::min(static_cast<double>(block_times) * 1024, nanoseconds(work) * longest_ns);
  if (recent_.work_ns < enough_ns) return;
  usual_block_ns_ = static_cast<std::int64_t>(recent_.block_times / recent_.work_ns);
  if (recent_.work_ns < forgotten_from_ns) return;
  recent_.work_ns /= 2;
  recent_.block_times /= 2;
}

/// A program that has been released stays free, whatever the scheduler has decided meanwhile.
void Program::set_lease(Lease lease) {
  const std::scoped_lock lock(mutex_);
  if (!is_released_) write_lease(lease);
}

/// Workers are held only when the lease changes: the program lets them go by itself after the longest hold.
void Program::write_lease(Lease lease) {
  const bool is_held = lease.state == LeaseState::Held;
  if (!is_held) let_workers_go(page().workers);
  if (page().lease.exchange(lease.word()) == lease.word()) return;
  if (is_held) hold_workers(page().workers);
  wake_all(page().lease);
}

bool Program::asks(Time now) { return pauses_.has_been_busy_lately(now, is_busy()); }

// The program adds to `launched` and then reads the word; here it is the other way round, so one of both sees it.
bool Program::is_busy_after_all() {
  const Duration before = launched_;
  page().is_known_busy.store(0);
  poll();
  if (launched_ == before) return false;
  page().is_known_busy.store(1);
  return true;
}

bool Program::wait_for_piece() {
  while (true) {
    std::uint32_t seen = 0;
    bool leads = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !has_piece_ || is_released_; });
      if (is_released_) return false;
      seen = gang_.news();
      leads = gang_.leads();
      // Another GPU's scheduler may have held it just before this one came to lead.
      if (leads && (is_busy() || (gang_.gpus() > 1 && is_held()))) {
        has_piece_ = true;
        return true;
      }
    }
    leads ? wait_while(page().is_known_busy, 0, longest_wait_ns) : gang_.await_news(seen, longest_wait_ns);
    gang_.drop_ended();
  }
}

void Program::piece_ended() {
  const std::scoped_lock lock(mutex_);
  has_piece_ = false;
  changed_.notify_all();
}

void Program::release() {
  {
    const std::scoped_lock lock(mutex_);
    is_released_ = true;
    gang_.leave();
    write_lease({});
    changed_.notify_all();
  }
  wake_all(page().is_known_busy);
  tasks_.end();
}

void Program::note_piece(Duration work) {
  const std::int64_t mean = usual_piece_ns_.load();
  usual_piece_ns_ = mean + (work.count() - mean) / 4;
}

void Program::note_busy(Duration gpu, Duration time, bool was_alone) {
  if (time <= Duration{}) return;
  const double before = busy_ratio_.load();
  const double seen = std::min(nanoseconds(gpu) / nanoseconds(time), 1.0);
  if (was_alone || seen > before) busy_ratio_ = before + (seen - before) / 4;
}

void Programs::add(const std::shared_ptr<Program>& program) {
  const std::scoped_lock lock(mutex_);
  programs_.push_back(program);
  tell_of_others();
  if (changed_) changed_();
}

void Programs::remove(const std::shared_ptr<Program>& program) {
  const std::scoped_lock lock(mutex_);
  std::erase(programs_, program);
  program->release();
  tell_of_others();
  if (changed_) changed_();
}

std::vector<std::shared_ptr<Program>> Programs::all() const {
  const std::scoped_lock lock(mutex_);
  return programs_;
}

void Programs::order_tasks(const TaskOrder& order) {
  const std::scoped_lock lock(mutex_);
  task_order_ = order;
}

/// With the lock.
void Programs::tell_of_others() {
  if (!task_order_) return;
  for (const auto& program : programs_) program->tasks().order(*task_order_, programs_.size() > 1);
}

void Programs::on_change(std::function<void()> call) {
  const std::scoped_lock lock(mutex_);
  changed_ = std::move(call);
}

}  // namespace gpushare::programs
