// SPDX-License-Identifier: Apache-2.0
#include "intercept/workers/held_work.hpp"

#include <algorithm>
#include <array>

#include "intercept/calls/streams.hpp"
#include "intercept/forks.hpp"
#include "intercept/own_thread.hpp"
#include "intercept/waiting.hpp"
#include "programs/process_state.hpp"
#include "programs/worker_words.hpp"

namespace gpushare::intercept {
namespace {

using programs::Lease;
using programs::LeaseState;

/// How often it looks in the beginning of a hold, while kernels are being evicted; later; and without a hold.
constexpr std::uint64_t first_looks_every_ns = 50'000;
constexpr std::uint64_t first_looks_ns = 2'000'000;
constexpr std::uint64_t looks_every_ns = 5'000'000;
constexpr std::uint64_t sleeps_for_ns = 100'000'000;

std::atomic<bool> is_looked_after = false;

class HeldWork {
 public:
  explicit HeldWork(const Membership& member) : page_(*member.page), slot_(*member.slot), member_(&member) {}

  void look_until_the_end() {
    while (membership.load(std::memory_order_acquire) == member_) wait_for(look());
  }

 private:
  struct LookedAt {
    Lease lease;
    std::uint64_t looks_again_in_ns;
  };

  LookedAt look() {
    const auto lease = Lease::of(page_.lease.load(std::memory_order_acquire));
    const std::uint32_t go = page_.workers.go.load(std::memory_order_acquire);
    const std::uint64_t now = now_ns();
    if (go != go_) held_since_ns_ = now;
    go_ = go;
    if ((go & 1) != 0) return {lease, lease.state == LeaseState::Held ? looks_every_ns : sleeps_for_ns};
    count_evictions();
    const std::uint64_t held_ns = now - held_since_ns_;
    if (held_ns >= page_.longest_hold_ns || (held_ns >= sleeps_for_ns && is_left_alone(lease))) end_hold();
    return {lease, held_ns < first_looks_ns ? first_looks_every_ns : looks_every_ns};
  }

  void wait_for(LookedAt seen) { wait_while(page_.lease, seen.lease.word(), seen.looks_again_in_ns); }

  void count_evictions() {
    const std::size_t streams = std::min<std::size_t>(slot_.streams.load(), programs::most_streams);
    for (std::size_t stream = 0; stream < streams; ++stream) {
      const std::uint64_t stopped = slot_.progress[stream].stopped.load();
      if (stopped == 0) continue;
      has_stopped_ = true;
      if (stopped != counted_[stream]) slot_.evictions.fetch_add(1, std::memory_order_relaxed);
      counted_[stream] = stopped;
    }
  }

  /// The scheduler lets workers go before it frees the lease; one that has died in between does not.
  bool is_left_alone(Lease lease) const {
    return lease.state != LeaseState::Held || programs::is_dead(page_.keeper_pid);
  }

  void end_hold() {
    if (programs::is_dead(page_.keeper_pid)) {
      page_.lease = Lease{}.word();
    } else if (has_stopped_) {
      slot_.let_go.fetch_add(1, std::memory_order_relaxed);
    }
    has_stopped_ = false;
    programs::let_workers_go(page_.workers);
    wake_all(page_.lease);
  }

  programs::ProgramPage& page_;
  programs::ProcessSlot& slot_;
  const Membership* member_;
  std::uint32_t go_ = 1;
  std::uint64_t held_since_ns_ = 0;
  bool has_stopped_ = false;
  std::array<std::uint64_t, programs::most_streams> counted_{};
};

void* look_after(void* member) {
  HeldWork(*static_cast<const Membership*>(member)).look_until_the_end();
  return nullptr;
}

}  // namespace

bool look_after_held_work(const Membership& member) {
  if (is_looked_after.load(std::memory_order_relaxed) || is_looked_after.exchange(true)) return true;
  is_looked_after = is_started(look_after, member);
  return is_looked_after;
}

void forget_held_work() { is_looked_after = false; }

}  // namespace gpushare::intercept
