// SPDX-License-Identifier: Apache-2.0
#include "intercept/progress.hpp"

#include <algorithm>
#include <cstddef>

#include "intercept/forks.hpp"
#include "intercept/pinned_words.hpp"
#include "intercept/waiting.hpp"

namespace gpushare::intercept {
namespace {

constexpr std::uint64_t interval_free_ns = 1'000'000;
constexpr std::uint64_t interval_limited_ns = 200'000;

PinnedWords progress_words;

CUdeviceptr on_device(const Membership& member) {
  auto& words = member.slot->progress;
  static_assert(offsetof(programs::ProcessSlot, line) == offsetof(programs::ProcessSlot, progress) + sizeof words);
  return progress_words.on_device(&words, sizeof words + sizeof(programs::PhaseLine));
}

void write_mark(CUdeviceptr all, const StreamWords& words, CUstream stream, std::uint64_t value) {
  const CUdeviceptr ended =
      all + words.index * sizeof(programs::StreamProgress) + offsetof(programs::StreamProgress, ended);
  const CUresult result = call(real.cuStreamWriteValue64_v2, stream, ended, cuuint64_t{value}, 0u);
  if (result == CUDA_ERROR_NOT_SUPPORTED) return progress_words.give_up("cuStreamWriteValue64", result);
  if (result != CUDA_SUCCESS) pin_again();  // the context in which the words were pinned may have gone
}

}  // namespace

std::uint64_t mark_interval_ns(programs::Lease lease) {
  if (lease.state == programs::LeaseState::Free) return interval_free_ns;
  const std::uint64_t half = std::uint64_t{lease.limit_us} * 500;
  return half != 0 ? std::min(half, interval_limited_ns) : interval_limited_ns;
}

void mark(const Membership& member, StreamWords& words, CUstream stream) {
  if (progress_words.are_impossible()) return;
  // Between two marks, the one with less must come first.
  if (words.is_being_marked.exchange(true, std::memory_order_acquire)) return;
  if (!is_capturing(stream)) {
    const AllowedWhileCapturing allowed;
    const CUdeviceptr all = on_device(member);
    // Work is launched before it is counted, so the stream has all of this in front of the mark.
    const std::uint64_t launched = words.progress->launched;
    if (all != 0) write_mark(all, words, stream, launched);
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
  const CUdeviceptr all = on_device(member);
  if (all == 0) return 0;
  const auto* first = reinterpret_cast<const std::byte*>(&member.slot->progress);
  return all + static_cast<CUdeviceptr>(static_cast<const std::byte*>(word) - first);
}

bool has_marks() { return !progress_words.are_impossible(); }

void pin_again() { progress_words.pin_again(); }

void forget_progress() { progress_words.forget(); }

}  // namespace gpushare::intercept
