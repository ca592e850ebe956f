// SPDX-License-Identifier: Apache-2.0
#include "intercept/launch_samples.hpp"

#include <array>
#include <mutex>

#include "intercept/forks.hpp"
#include "intercept/waiting.hpp"
#include "intercept/workers/worker_rounds.hpp"

namespace gpushare::intercept {
namespace {

enum class PairState { Empty, Ready, Taken, UnderWay };

struct EventPair {
  std::atomic<PairState> state = PairState::Empty;
  CUcontext context = nullptr;
  CUevent first = nullptr;
  CUevent last = nullptr;
  KnownLaunch* known = nullptr;
  std::uint64_t first_recorded_at_ns = 0;
  std::uint64_t idle_ns = 0;  ///< the stream's wait for the launch, behind the first event
  bool as_workers = false;
  std::uint32_t held = 0;  ///< WorkerWords::go: a kernel may have been evicted in between where it has changed
};

/// A lower limit for the time of a kernel.
constexpr std::uint64_t shortest_ns = 500;

constexpr int most_pairs = 64;
/// Limit of events that one call reads: each asks the driver.
constexpr int most_read = 4;

std::array<EventPair, most_pairs> pairs;
int next_to_read = 0;
/// Taken by try_lock() only: a launch that finds it taken is not timed.
Lock choosing;

EventPair& pair_of(int index) { return pairs[static_cast<std::size_t>(index)]; }

bool make_events(EventPair& pair, CUcontext context) {
  if (call(real.cuEventCreate, &pair.first, unsigned{CU_EVENT_DEFAULT}) != CUDA_SUCCESS) return false;
  if (call(real.cuEventCreate, &pair.last, unsigned{CU_EVENT_DEFAULT}) != CUDA_SUCCESS) return false;
  pair.context = context;
  return true;
}

/// With the lock. A pair of this context's, or -1.
int take_pair(CUcontext context) {
  int empty = -1;
  for (int index = 0; index < most_pairs; ++index) {
    EventPair& pair = pair_of(index);
    if (pair.state == PairState::Ready && pair.context == context) {
      pair.state = PairState::Taken;
      return index;
    }
    if (pair.state == PairState::Empty && empty < 0) empty = index;
  }
  if (empty < 0 || !make_events(pair_of(empty), context)) return -1;
  pair_of(empty).state = PairState::Taken;
  return empty;
}

/// With the lock. False while it is under way.
bool read_pair(const Membership& member, EventPair& pair) {
  const CUresult state = call(real.cuEventQuery, pair.last);
  if (state == CUDA_ERROR_NOT_READY) return false;
  float milliseconds = 0;
  const bool is_timed =
      state == CUDA_SUCCESS && call(real.cuEventElapsedTime_v2, &milliseconds, pair.first, pair.last) == CUDA_SUCCESS;
  if (is_timed && milliseconds >= 0 && pair.held == member.page->workers.go.load(std::memory_order_relaxed)) {
    const auto between_ns = static_cast<std::uint64_t>(static_cast<double>(milliseconds) * 1e6);
    const std::uint64_t ns = std::max(between_ns, pair.idle_ns + shortest_ns) - pair.idle_ns;
    pair.known->add_sample(member, ns);
    const auto lease = programs::Lease::of(member.page->lease.load(std::memory_order_relaxed));
    const bool is_alone = lease.state == programs::LeaseState::Free;
    if (is_alone && member.makes_workers) note_time(*pair.known, ns, pair.as_workers);
  }
  pair.state = PairState::Ready;
  return true;
}

/// With the lock. Where one sample is not ready, others are likely not to be either; but the next call begins behind
/// it, as its stream may wait for long.
void read_some(const Membership& member) {
  for (int looked = 0, read = 0; looked < most_pairs && read < most_read; ++looked) {
    EventPair& pair = pair_of(next_to_read);
    next_to_read = (next_to_read + 1) % most_pairs;
    if (pair.state != PairState::UnderWay) continue;
    if (!read_pair(member, pair)) return;
    ++read;
  }
}

}  // namespace

void Sample::begin(const Membership& member, KnownLaunch* known, CUstream stream) {
  if (is_capturing(stream)) return;
  const std::unique_lock lock(choosing, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const AllowedWhileCapturing allowed;
  read_some(member);
  const CUcontext context = current_context_of(stream);
  const int taken = context != nullptr ? take_pair(context) : -1;
  if (taken < 0) return;
  pair_of(taken).known = known;
  pair_of(taken).held = member.page->workers.go.load(std::memory_order_relaxed);
  if (call(real.cuEventRecord, pair_of(taken).first, stream) == CUDA_SUCCESS) {
    pair_ = taken;
    pair_of(taken).first_recorded_at_ns = now_ns();
  } else {
    pair_of(taken).state = PairState::Ready;
  }
}

/// If the first event has passed already, the stream was idle when the event came, and then waited for the launch.
void Sample::end(CUstream stream, bool as_workers) {
  EventPair& pair = pair_of(pair_);
  pair.as_workers = as_workers;
  const AllowedWhileCapturing allowed;
  const std::uint64_t launch_took_ns = now_ns() - pair.first_recorded_at_ns;
  pair.idle_ns = call(real.cuEventQuery, pair.first) == CUDA_SUCCESS ? launch_took_ns : 0;
  if (call(real.cuEventRecord, pair.last, stream) != CUDA_SUCCESS) return;
  pair.state = PairState::UnderWay;
  pair_ = -1;
}

void Sample::abandon() { pair_of(pair_).state = PairState::Ready; }

void read_samples(const Membership& member) {
  const std::unique_lock lock(choosing, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const AllowedWhileCapturing allowed;
  read_some(member);
}

void drop_samples() {
  const std::lock_guard lock(choosing);
  for (EventPair& pair : pairs) {
    // A taken pair belongs to a launch that is being made, so its context still exists.
    if (pair.state != PairState::Taken) pair.state = PairState::Empty;
  }
}

void forget_samples() {
  for (EventPair& pair : pairs) pair.state = PairState::Empty;
  choosing.unlock();
}

}  // namespace gpushare::intercept
