// SPDX-License-Identifier: Apache-2.0
#include "intercept/gate.hpp"

#include <algorithm>

#include "intercept/progress.hpp"
#include "intercept/waiting.hpp"
#include "programs/process_state.hpp"
#include "programs/worker_words.hpp"

namespace gpushare::intercept {
namespace {

using programs::Lease;
using programs::LeaseState;
using programs::ProgramPage;

constexpr std::uint64_t spin_ns = 5'000;
/// The mark that ends this wait comes within the limit, and sleeping would leave the GPU without work.
constexpr std::uint64_t spin_for_mark_ns = 300'000;
constexpr std::uint64_t nap_ns = 20'000;
/// The interval at which a held thread checks whether a process that could release it still exists.
constexpr std::uint64_t keeper_patience_ns = 100'000'000;
/// The same for a process that launches collectives: one that was counted as it began to sleep wakes nothing.
constexpr std::uint64_t collective_patience_ns = 1'000'000;
/// A process that is further behind launches other collectives than the one ahead, as stages of a pipeline do.
constexpr std::uint64_t most_behind = 1024;
/// For so long after it has come to the gate a process that is behind is not held. Launching takes less; one whose
/// count never catches up, since it leaves collectives out, is held then.
constexpr std::uint64_t longest_catching_up_ns = 20'000'000;
/// A longer time between two looks counts as this.
constexpr std::uint64_t longest_between_looks_ns = 5'000'000;
/// The interval at which a thread asks the driver about work under way: its mark may have been lost with the context.
constexpr std::uint64_t mark_patience_ns = 10'000'000;

bool is_over_limit(const StreamWords& words, Lease lease) {
  return lease.limit_us != 0 && words.under_way() > std::int64_t{lease.limit_us} * 1000 && has_marks();
}

/// Has another process of the program launched a collective whose counterpart this one has not launched yet?
bool is_behind_in_collectives(const Membership& member) {
  const std::uint64_t own = member.slot->collectives.load(std::memory_order_relaxed);
  return std::ranges::any_of(member.page->processes, [own](const programs::ProcessSlot& other) {
    const std::uint64_t launched = other.collectives.load(std::memory_order_acquire);
    return launched > own && launched - own <= most_behind && other.pid.load(std::memory_order_relaxed) != 0;
  });
}

/// These are for all threads of the process: which of them notes a time does not matter.
std::atomic<std::uint64_t> caught_up_for_ns = 0;
std::atomic<std::uint64_t> last_look_ns = 0;
std::atomic<std::uint64_t> launches_at_look = 0;

/// Within a hold each launch comes after a look. Where there were more launches, and some time has passed, the process
/// has launched freely meanwhile, and this is another hold. Time alone may pass where the host is busy.
bool may_catch_up(const Membership& member) {
  if (!is_behind_in_collectives(member)) return false;
  const std::uint64_t now = now_ns();
  const std::uint64_t launches = member.slot->launches.load(std::memory_order_relaxed);
  const std::uint64_t passed = now - last_look_ns.exchange(now, std::memory_order_relaxed);
  const std::uint64_t launched = launches - launches_at_look.exchange(launches, std::memory_order_relaxed);
  if (passed > longest_between_looks_ns && launched > 1) {
    caught_up_for_ns = 0;
    return true;
  }
  return (caught_up_for_ns += std::min(passed, longest_between_looks_ns)) <= longest_catching_up_ns;
}

bool has_to_wait(const Membership& member, const StreamWords& words, Lease lease) {
  if (lease.state == LeaseState::Held) return !may_catch_up(member);
  return lease.state == LeaseState::Limited && is_over_limit(words, lease);
}

void free_from_dead_keeper(ProgramPage& page) {
  if (!programs::is_dead(page.keeper_pid)) return;
  programs::let_workers_go(page.workers);
  page.lease = Lease{}.word();
  wake_all(page.lease);
}

/// Notes the end of all work where the stream has none left, or its context has failed and the rest never ends.
void note_idle_stream(StreamWords& words, CUstream stream) {
  const std::uint64_t launched = words.progress->launched;
  const AllowedWhileCapturing allowed;
  if (call(real.cuStreamQuery, stream) != CUDA_ERROR_NOT_READY) note_end(words, launched);
}

/// One thread's wait at the gate.
class Wait {
 public:
  Wait(const Membership& member, StreamWords& words, CUstream stream)
      : member_(member), words_(words), stream_(stream) {}

  void until_let_through(Lease lease) {
    for (; has_to_wait(member_, words_, lease); lease = present_lease()) {
      if (waited_ns() >= member_.page->longest_hold_ns) {
        if (lease.state == LeaseState::Held) member_.slot->let_go.fetch_add(1, std::memory_order_relaxed);
        return;
      }
      lease.state == LeaseState::Held ? hold(lease) : limit();
    }
  }

 private:
  Lease present_lease() const { return Lease::of(member_.page->lease.load(std::memory_order_acquire)); }
  std::uint64_t waited_ns() const { return counted_until_ - begin_; }

  void count(std::atomic<std::uint64_t>& counter) {
    const std::uint64_t now = now_ns();
    counter.fetch_add(now - counted_until_, std::memory_order_relaxed);
    counted_until_ = now;
  }

  void hold(Lease lease) {
    if (waited_ns() < spin_ns) {
      pause_processor();
    } else {
      const std::uint64_t left = member_.page->longest_hold_ns - waited_ns();
      const bool has_peers = member_.slot->collectives.load(std::memory_order_relaxed) > 0;
      const std::uint64_t patience = has_peers ? collective_patience_ns : keeper_patience_ns;
      wait_while(member_.page->lease, lease.word(), std::min(left, patience));
      free_from_dead_keeper(*member_.page);
    }
    count(member_.slot->held_ns);
  }

  void limit() {
    if (waited_ns() < spin_for_mark_ns) {
      pause_processor();
    } else {
      sleep_ns(nap_ns);
      if (waited_ns() >= asked_driver_at_ + mark_patience_ns) {
        asked_driver_at_ = waited_ns();
        note_idle_stream(words_, stream_);
        free_from_dead_keeper(*member_.page);
      }
    }
    count(member_.slot->limited_ns);
  }

  const Membership& member_;
  StreamWords& words_;
  CUstream stream_;
  std::uint64_t begin_ = now_ns();
  std::uint64_t counted_until_ = begin_;
  std::uint64_t asked_driver_at_ = 0;
};

}  // namespace

void note_collective(const Membership& member) {
  member.slot->collectives.fetch_add(1, std::memory_order_release);
  if (Lease::of(member.page->lease.load()).state == LeaseState::Held) wake_all(member.page->lease);
}

void obey(const Membership& member, StreamWords& words, CUstream stream, Lease lease) {
  if (!has_to_wait(member, words, lease) || is_capturing(stream)) return;
  // The work launched since the last mark would never be known to have ended, as it may be short of the next mark.
  if (words.progress->launched.load(std::memory_order_relaxed) != words.marked.load(std::memory_order_relaxed)) {
    mark(member, words, stream);
  }
  Wait(member, words, stream).until_let_through(lease);
}

}  // namespace gpushare::intercept
