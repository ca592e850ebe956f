// SPDX-License-Identifier: Apache-2.0
#include "intercept/phases.hpp"

#include <pthread.h>

#include <algorithm>
#include <mutex>

#include "intercept/calls/captures.hpp"
#include "intercept/forks.hpp"
#include "intercept/own_thread.hpp"
#include "intercept/progress.hpp"
#include "intercept/waiting.hpp"
#include "programs/process_state.hpp"

namespace gpushare::intercept {
namespace {

using programs::go_always;
using programs::Ordered;
using programs::Phase;
using programs::PhaseKind;
using programs::PhaseLine;

/// The interval at which a process checks whether anybody is there to open its gates.
constexpr std::uint64_t gate_watch_ns = 20'000'000;
constexpr std::uint64_t place_nap_ns = 20'000;

/// The phase that calls are added to.
struct Present {
  std::uint64_t number = 0;  ///< 0: none
  CUstream stream = nullptr;
  pthread_t thread{};       ///< that began it: streams of threads have the same handle
  bool is_awaited = false;  ///< by a call, which notes its end
};

Present present;  // under the lock
Lock issuing;
std::atomic<bool> is_watched = false;

Phase& phase_of(const Membership& member, std::uint64_t number) { return member.slot->line.at(number); }

void tell_scheduler(const Membership& member) {
  ++member.page->task_news;
  wake_all(member.page->task_news);
}

void open_all(const Membership& member) { programs::raise(member.slot->line.go, go_always); }

/// Opens gates that no scheduler opens, and those that have been shut for too long.
class GateWatch {
 public:
  explicit GateWatch(const Membership& member) : member_(member), line_(member.slot->line) {}

  void look() {
    const bool has_opener = is_ordered(member_) && !programs::is_dead(member_.page->keeper_pid);
    if (!has_opener) return stop();
    const std::uint64_t go = line_.go;
    const std::uint64_t begun = line_.begun;
    const std::uint64_t now = now_ns();
    if (go >= begun || go != seen_go_) {
      seen_go_ = go;
      since_ns_ = now;
    } else if (now - since_ns_ >= member_.page->longest_hold_ns) {
      member_.slot->let_go += begun - go;
      programs::raise(line_.go, begun);
    }
  }

 private:
  /// Nobody takes phases any more, so no call may wait for a place.
  void stop() {
    Ordered yes = Ordered::Yes;
    if (programs::is_dead(member_.page->keeper_pid)) member_.page->ordering.compare_exchange_strong(yes, Ordered::No);
    open_all(member_);
  }

  const Membership& member_;
  PhaseLine& line_;
  std::uint64_t seen_go_ = 0;
  std::uint64_t since_ns_ = now_ns();
};

void* watch(void* given) {
  const auto& member = *static_cast<const Membership*>(given);
  for (GateWatch gates(member); membership.load() == &member; gates.look()) sleep_ns(gate_watch_ns);
  return nullptr;
}

/// Where there can be none, nothing is ordered.
bool start_watching(const Membership& member) {
  if (is_watched.exchange(true)) return true;
  is_watched = is_started(watch, member);
  return is_watched;
}

bool ends_all_work(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
      return true;
    default:
      return false;
  }
}

void give_up(const Membership& member, const char* why, CUresult result) {
  member.page->ordering = Ordered::Impossible;
  open_all(member);
  tell_scheduler(member);
  say("%s says %d: the GPU has no gates, so process %d runs without an ordering of its copies", why,
      static_cast<int>(result), static_cast<int>(getpid()));
}

bool put_gate(const Membership& member, CUstream stream, std::uint64_t number) {
  const AllowedWhileCapturing allowed;
  const CUdeviceptr go = on_gpu(member, &member.slot->line.go);
  if (go == 0) {
    if (!has_marks()) give_up(member, "cuMemHostRegister", CUDA_ERROR_NOT_SUPPORTED);
    return false;
  }
  const CUresult result =
      call(real.cuStreamWaitValue64_v2, stream, go, cuuint64_t{number}, unsigned{CU_STREAM_WAIT_VALUE_GEQ});
  if (result == CUDA_ERROR_NOT_SUPPORTED) give_up(member, "cuStreamWaitValue64", result);
  return result == CUDA_SUCCESS;
}

/// With the lock. The GPU tells of the end of the calls so far. Where it cannot, they count as ended.
void put_mark(const Membership& member) {
  if (present.number == 0 || present.is_awaited) return;
  Phase& phase = phase_of(member, present.number);
  const std::uint64_t calls = phase.calls;
  if (phase.marked == calls) return;
  const bool is_of_other_thread =
      present.stream == CU_STREAM_PER_THREAD && pthread_equal(present.thread, pthread_self()) == 0;
  if (is_of_other_thread) return;  // each call in it has a mark
  const AllowedWhileCapturing allowed;
  const CUdeviceptr ended = on_gpu(member, &phase.ended);
  // A stream may have joined a capture: the mark would be a node of the program's graph.
  const bool is_put = ended != 0 && !is_captured(present.stream) &&
                      call(real.cuStreamWriteValue64_v2, present.stream, ended, cuuint64_t{calls}, 0u) == CUDA_SUCCESS;
  if (!is_put) programs::raise(phase.ended, calls);
  phase.marked = calls;
}

/// With the lock.
void complete(const Membership& member) {
  if (present.number == 0) return;
  put_mark(member);
  programs::raise(member.slot->line.complete, present.number);
}

/// With the lock. False where nothing is ordered any more, or after the longest hold.
bool wait_for_place(const Membership& member, std::uint64_t number) {
  const PhaseLine& line = member.slot->line;
  const auto has_place = [&] { return number < line.noticed + programs::most_phases; };
  if (has_place()) return true;
  complete(member);
  tell_scheduler(member);
  const std::uint64_t begin_ns = now_ns();
  while (!has_place()) {
    if (!is_ordered(member) || now_ns() - begin_ns >= member.page->longest_hold_ns) return false;
    sleep_ns(place_nap_ns);
  }
  return true;
}

/// With the lock. A task is copies to the device, kernels, copies to the host, in this order.
void begin_phase(const Membership& member, CUstream stream, const PhaseWork& work) {
  PhaseLine& line = member.slot->line;
  if (present.number != 0) {
    const PhaseKind before = phase_of(member, present.number).kind;
    work.kind < before ? complete(member) : put_mark(member);
  }
  const std::uint64_t number = line.begun + 1;
  const bool has_place = start_watching(member) && wait_for_place(member, number);
  present.number = 0;
  if (!has_place || !put_gate(member, stream, number)) return;
  Phase& phase = line.at(number);
  phase.kind = work.kind;
  phase.unknown = 0;
  phase.bytes = 0;
  phase.predicted_ns = 0;
  phase.calls = 0;
  phase.marked = 0;
  phase.ended = 0;
  phase.number = number;
  line.changed_ns = now_ns();
  line.begun = number;
  present = {.number = number, .stream = stream, .thread = pthread_self()};
}

/// With the lock. What has been let go takes nothing more in: the scheduler has counted it.
bool is_of_present_phase(const Membership& member, CUstream stream, const PhaseWork& work) {
  if (present.number == 0 || present.is_awaited || work.begins_phase || present.stream != stream) return false;
  if (stream == CU_STREAM_PER_THREAD && pthread_equal(present.thread, pthread_self()) == 0) return false;
  const PhaseLine& line = member.slot->line;
  return phase_of(member, present.number).kind == work.kind && line.complete < present.number &&
         line.go < present.number;
}

/// With the lock.
void add(const Membership& member, CUstream stream, const PhaseWork& work) {
  const bool is_new = !is_of_present_phase(member, stream, work);
  if (is_new) begin_phase(member, stream, work);
  if (present.number == 0) return;
  Phase& phase = phase_of(member, present.number);
  phase.bytes += work.bytes;
  phase.predicted_ns += work.predicted_ns;
  if (!work.is_known) ++phase.unknown;
  ++phase.calls;
  member.slot->line.changed_ns = now_ns();
  if (is_new) tell_scheduler(member);
}

}  // namespace

PhaseCall::PhaseCall(const Membership& member, CUstream stream, const PhaseWork& work) {
  if (!is_ordered(member)) return;
  issuing.lock();
  ordered_ = &member;
  add(member, stream, work);
}

PhaseCall::~PhaseCall() {
  if (ordered_ == nullptr) return;
  if (present.stream == CU_STREAM_PER_THREAD) put_mark(*ordered_);
  issuing.unlock();
}

AwaitedPhase::AwaitedPhase(const Membership& member, CUstream stream, std::uint64_t bytes) {
  if (!is_ordered(member)) return;
  const std::lock_guard lock(issuing);
  add(member, stream, {.kind = PhaseKind::ToHost, .bytes = bytes, .begins_phase = true});
  if (present.number == 0) return;
  phase_ = &phase_of(member, present.number);
  phase_->marked = 1;
  present.is_awaited = true;
  complete(member);
  tell_scheduler(member);
}

AwaitedPhase::~AwaitedPhase() {
  if (phase_ != nullptr) programs::raise(phase_->ended, 1);
}

void complete_task(const Membership& member) {
  const std::lock_guard lock(issuing);
  if (present.number == 0 || member.slot->line.complete >= present.number) return;
  complete(member);
  tell_scheduler(member);
}

void note_result(const Membership& member, CUresult result) {
  if (!ends_all_work(result) || !is_ordered(member)) return;
  const std::lock_guard lock(issuing);
  PhaseLine& line = member.slot->line;
  const std::uint64_t begun = line.begun;
  for (std::uint64_t number = begun - std::min(begun, programs::most_phases - 1); number <= begun; ++number) {
    Phase& phase = line.at(number);
    if (phase.number == number) programs::raise(phase.ended, phase.calls);
  }
}

void keep_task_open(const Membership& member) {
  member.slot->line.changed_ns.store(now_ns(), std::memory_order_relaxed);
}

void forget_phase_of_context() {
  complete_task();
  const std::lock_guard lock(issuing);
  present = {};
}

void forget_phases() {
  issuing.unlock();
  present = {};
  is_watched = false;
}

}  // namespace gpushare::intercept
