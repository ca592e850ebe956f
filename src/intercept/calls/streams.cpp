// SPDX-License-Identifier: Apache-2.0
#include "intercept/calls/streams.hpp"

#include <mutex>

#include "intercept/forks.hpp"
#include "intercept/waiting.hpp"

namespace gpushare::intercept {
namespace {

constexpr std::size_t most_handles = 512;  ///< a power of two
constexpr std::size_t most_known = most_handles / 2;

std::array<StreamWords, programs::most_streams> words;
/// A handle and the index of its words in one word, so that both are read at once. Open addressing; nothing is removed.
/// The driver reuses the handle of a destroyed stream, and the next stream then continues with its words.
std::array<std::atomic<std::uint64_t>, most_handles> handles;
std::size_t known_handles = 0;
Lock adding_stream;

/// A thread's default stream has no distinct handle, so its words are found by the thread.
std::atomic<std::uint32_t> threads_begin = 1;  ///< another number in forked processes
thread_local std::uint32_t thread_belongs_to = 0;
thread_local StreamWords* words_of_thread = nullptr;

std::size_t hash_of(std::uint64_t handle) { return (handle * 0x9e3779b97f4a7c15) >> 32; }

/// With the lock: words without a stream, or where all are taken those at the hash.
StreamWords& new_words(const Membership& member, CUstream stream, std::size_t hash) {
  const std::uint32_t taken = member.slot->streams.load(std::memory_order_relaxed);
  const bool is_unshared = taken < programs::most_streams;
  const std::size_t index = is_unshared ? taken : hash % programs::most_streams;
  StreamWords& found = words[index];
  found.is_shared = !is_unshared;
  if (!is_unshared) return found;
  found.index = taken;
  found.progress = &member.slot->progress[index];
  found.marked = 0;
  found.context = nullptr;
  const AllowedWhileCapturing allowed;
  call(real.cuStreamGetCtx, stream, &found.context);
  member.slot->streams.store(taken + 1, std::memory_order_release);
  return found;
}

StreamWords& add_stream(const Membership& member, std::uint64_t handle) {
  const std::lock_guard lock(adding_stream);
  std::size_t at = hash_of(handle) % most_handles;
  for (; handles[at] != 0; at = (at + 1) % most_handles) {
    if (handles[at] >> 8 == handle) return words[handles[at] & 0xff];
  }
  StreamWords& found = new_words(member, reinterpret_cast<CUstream>(handle), hash_of(handle));
  if (known_handles < most_known) {
    ++known_handles;
    handles[at].store(handle << 8 | found.index, std::memory_order_release);
  }
  return found;
}

StreamWords& words_of_this_thread(const Membership& member) {
  if (thread_belongs_to == threads_begin.load(std::memory_order_relaxed)) return *words_of_thread;
  const std::lock_guard lock(adding_stream);
  words_of_thread =
      &new_words(member, CU_STREAM_PER_THREAD, hash_of(reinterpret_cast<std::uintptr_t>(&words_of_thread)));
  thread_belongs_to = threads_begin;
  return *words_of_thread;
}

}  // namespace

StreamWords& words_of(const Membership& member, CUstream stream) {
  if (stream == CU_STREAM_PER_THREAD) return words_of_this_thread(member);
  const std::uint64_t handle = reinterpret_cast<std::uintptr_t>(stream);
  for (std::size_t at = hash_of(handle) % most_handles;; at = (at + 1) % most_handles) {
    const std::uint64_t found = handles[at].load(std::memory_order_acquire);
    if (found >> 8 == handle) return words[found & 0xff];
    if (found == 0) return add_stream(member, handle);
  }
}

std::array<StreamWords, programs::most_streams>& all_words() { return words; }

/// Events and memory are made in the current one.
CUcontext current_context_of(CUstream stream) {
  CUcontext current = nullptr;
  CUcontext of_stream = nullptr;
  if (call(real.cuCtxGetCurrent, &current) != CUDA_SUCCESS) return nullptr;
  if (call(real.cuStreamGetCtx, stream, &of_stream) != CUDA_SUCCESS) return nullptr;
  return of_stream == current ? current : nullptr;
}

std::size_t words_in_use(const Membership& member) { return member.slot->streams.load(std::memory_order_acquire); }

void forget_streams() {
  adding_stream.unlock();
  for (auto& handle : handles) handle = 0;
  for (StreamWords& each : words) {
    each.is_being_marked = false;
    each.launching.unlock();
  }
  known_handles = 0;
  ++threads_begin;
}

}  // namespace gpushare::intercept
