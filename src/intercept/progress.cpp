// SPDX-License-Identifier: Apache-2.0
#include "intercept/progress.hpp"

#include <algorithm>
#include <cstddef>
#include <mutex>

#include "intercept/forks.hpp"
#include "intercept/waiting.hpp"

namespace gpushare::intercept {
namespace {

constexpr std::uint64_t interval_free_ns = 1'000'000;
constexpr std::uint64_t interval_limited_ns = 200'000;

enum class Pinning { NotTried, Done, Impossible };

std::atomic<Pinning> pinning = Pinning::NotTried;
/// Where the GPU sees ProcessSlot::progress, and ProcessSlot::line behind it.
std::atomic<CUdeviceptr> on_device = 0;
Lock pinning_lock;

void give_up(const char* function, CUresult result) {
  pinning = Pinning::Impossible;
  if (is_verbose()) {
    say("%s says %d: the GPU cannot tell process %d's progress, and nothing limits its work under way", function,
        static_cast<int>(result), static_cast<int>(getpid()));
  }
}

/// Without a context it is tried again at the next mark.
bool is_for_want_of_a_context(CUresult result) {
  return result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_NOT_INITIALIZED;
}

void pin(const Membership& member) {
  const std::lock_guard lock(pinning_lock);
  if (pinning != Pinning::NotTried) return;
  auto& words = member.slot->progress;
  constexpr std::size_t bytes = sizeof words + sizeof(programs::PhaseLine);
  static_assert(offsetof(programs::ProcessSlot, line) == offsetof(programs::ProcessSlot, progress) + sizeof words);
  constexpr unsigned flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
  CUresult result = call(real.cuMemHostRegister_v2, static_cast<void*>(&words), bytes, flags);
  if (is_for_want_of_a_context(result)) return;
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) {
    return give_up("cuMemHostRegister", result);
  }
  CUdeviceptr found = 0;
  result = call(real.cuMemHostGetDevicePointer_v2, &found, static_cast<void*>(&words), 0u);
  if (result != CUDA_SUCCESS) return give_up("cuMemHostGetDevicePointer", result);
  on_device = found;
  pinning = Pinning::Done;
}

void write_mark(const StreamWords& words, CUstream stream, std::uint64_t value) {
  const CUdeviceptr ended =
      on_device + words.index * sizeof(programs::StreamProgress) + offsetof(programs::StreamProgress, ended);
  const CUresult result = call(real.cuStreamWriteValue64_v2, stream, ended, cuuint64_t{value}, 0u);
  if (result == CUDA_ERROR_NOT_SUPPORTED) return give_up("cuStreamWriteValue64", result);
  if (result != CUDA_SUCCESS) pin_again();  // the context in which the words were pinned may have gone
}

}  // namespace

std::uint64_t mark_interval_ns(programs::Lease lease) {
  if (lease.state == programs::LeaseState::Free) return interval_free_ns;
  const std::uint64_t half = std::uint64_t{lease.limit_us} * 500;
  return half != 0 ? std::min(half, interval_limited_ns) : interval_limited_ns;
}

void mark(const Membership& member, StreamWords& words, CUstream stream) {
  if (pinning == Pinning::Impossible) return;
  // Between two marks, the one with less must come first.
  if (words.is_being_marked.exchange(true, std::memory_order_acquire)) return;
  if (!is_capturing(stream)) {
    const AllowedWhileCapturing allowed;
    if (pinning == Pinning::NotTried) pin(member);
    // Work is launched before it is counted, so the stream has all of this in front of the mark.
    const std::uint64_t launched = words.progress->launched;
    if (pinning == Pinning::Done) write_mark(words, stream, launched);
    words.marked.store(launched, std::memory_order_relaxed);
    member.slot->last_launch_ns.store(now_ns(), std::memory_order_relaxed);
  }
  words.is_being_marked.store(false, std::memory_order_release);
}

/// A mark may come in between: the GPU writes it.
void note_end(StreamWords& words, std::uint64_t launched) {
  for (std::atomic<std::uint64_t>* each : {&words.progress->ended, &words.marked}) {
    std::uint64_t known = *each;
    while (static_cast<std::int64_t>(launched - known) > 0 && !each->compare_exchange_weak(known, launched)) {
    }
  }
}

CUdeviceptr on_gpu(const Membership& member, const void* word) {
  if (pinning == Pinning::NotTried) pin(member);
  if (pinning != Pinning::Done) return 0;
  const auto* first = reinterpret_cast<const std::byte*>(&member.slot->progress);
  return on_device + static_cast<CUdeviceptr>(static_cast<const std::byte*>(word) - first);
}

bool has_marks() { return pinning != Pinning::Impossible; }

void pin_again() {
  const std::lock_guard lock(pinning_lock);
  if (pinning == Pinning::Done) pinning = Pinning::NotTried;
}

void forget_progress() {
  pinning_lock.unlock();
  pinning = Pinning::NotTried;
}

}  // namespace gpushare::intercept
