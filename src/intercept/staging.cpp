// SPDX-License-Identifier: Apache-2.0
#include "intercept/staging.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>

#include "intercept/calls/streams.hpp"
#include "intercept/forks.hpp"
#include "intercept/phases.hpp"
#include "intercept/waiting.hpp"

namespace gpushare::intercept {

namespace {

/// In front of each copy's bytes. A word for each, as copies in several streams end in any order.
struct Part {
  alignas(64) std::atomic<std::uint64_t> has_ended;  ///< the GPU writes it, behind the copy
  std::size_t bytes;                                 ///< with this
};
static_assert(sizeof(Part) == 64);

struct StagingBlock {
  std::byte* memory = nullptr;
  CUdeviceptr on_device = 0;
  std::size_t filled = 0;  ///< bytes, from the first
  std::size_t ended = 0;   ///< of these, so many in front of the first copy that has not

  bool is_free() {
    while (ended < filled) {
      const auto& part = *reinterpret_cast<const Part*>(memory + ended);
      if (part.has_ended.load(std::memory_order_acquire) == 0) return false;
      ended += part.bytes;
    }
    return true;
  }
};

constexpr std::size_t block_bytes = 4 << 20;
constexpr std::size_t most_blocks = 256;
constexpr std::size_t huge_page = 2 << 20;
constexpr std::uint64_t block_nap_ns = 20'000;
/// The interval at which a wait asks the driver whether copies still come to their end.
constexpr int naps_between_questions = 500;

std::array<StagingBlock, most_blocks> blocks;
std::size_t block_count = 0;
StagingBlock* filling = nullptr;
Lock staging_lock;

/// GPUSHARE_STAGING_BYTES, by default a GiB.
std::size_t blocks_allowed() {
  static const std::size_t allowed = [] {
    const char* text = std::getenv("GPUSHARE_STAGING_BYTES");
    const std::size_t bytes = text != nullptr ? std::strtoull(text, nullptr, 10) : most_blocks * block_bytes;
    return std::clamp<std::size_t>(bytes / block_bytes, 1, most_blocks);
  }();
  return allowed;
}

/// In large pages, which are pinned sooner.
void* mapped_block() {
  void* memory = mmap(nullptr, block_bytes + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(memory);
  const std::size_t before = (huge_page - reinterpret_cast<std::uintptr_t>(begin) % huge_page) % huge_page;
  if (before != 0) munmap(begin, before);
  if (before != huge_page) munmap(begin + before + block_bytes, huge_page - before);
  madvise(begin + before, block_bytes, MADV_HUGEPAGE);
  return begin + before;
}

bool make_block(StagingBlock& block) {
  void* memory = mapped_block();
  if (memory == nullptr) return false;
  const AllowedWhileCapturing allowed;
  CUdeviceptr on_device = 0;
  constexpr unsigned flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
  if (call(real.cuMemHostRegister_v2, memory, block_bytes, flags) != CUDA_SUCCESS ||
      call(real.cuMemHostGetDevicePointer_v2, &on_device, memory, 0u) != CUDA_SUCCESS) {
    munmap(memory, block_bytes);
    return false;
  }
  block = {.memory = static_cast<std::byte*>(memory), .on_device = on_device};
  return true;
}

/// With the lock. nullptr where there are as many as there may be.
StagingBlock* another_block() {
  if (block_count >= blocks_allowed() || !make_block(blocks[block_count])) return nullptr;
  return &blocks[block_count++];
}

StagingBlock* free_block() {
  for (std::size_t index = 0; index < block_count; ++index) {
    if (&blocks[index] != filling && blocks[index].is_free()) return &blocks[index];
  }
  return another_block();
}

std::size_t free_bytes() {
  std::size_t bytes = filling != nullptr ? block_bytes - filling->filled : 0;
  for (std::size_t index = 0; index < block_count; ++index) {
    if (&blocks[index] != filling && blocks[index].is_free()) bytes += most_staged_bytes;
  }
  return bytes;
}

bool has_stopped(CUstream stream) {
  const AllowedWhileCapturing allowed;
  const CUresult state = call(real.cuStreamQuery, stream);
  return state != CUDA_SUCCESS && state != CUDA_ERROR_NOT_READY;
}

StagingBlock* awaited_block(const Membership& member, CUstream stream) {
  StagingBlock* found = free_block();
  if (found != nullptr || block_count == 0) return found;
  complete_task(member);
  for (int nap = 1; (found = free_block()) == nullptr; ++nap) {
    if (nap % naps_between_questions == 0 && has_stopped(stream)) return nullptr;
    sleep_ns(block_nap_ns);
  }
  return found;
}

}  // namespace

void prepare_staging(const Membership& member, std::size_t bytes) {
  const std::lock_guard lock(staging_lock);
  for (std::size_t free = free_bytes(); free < bytes && another_block() != nullptr; free += most_staged_bytes) {
    keep_task_open(member);
  }
}

Staged stage(const Membership& member, std::size_t bytes, CUstream stream) {
  const std::lock_guard lock(staging_lock);
  const std::size_t taken = sizeof(Part) + (bytes + sizeof(Part) - 1) / sizeof(Part) * sizeof(Part);
  if (filling == nullptr || filling->filled + taken > block_bytes) {
    filling = nullptr;
    filling = awaited_block(member, stream);
    if (filling == nullptr) return {};
    filling->filled = filling->ended = 0;
  }
  auto& part = *reinterpret_cast<Part*>(filling->memory + filling->filled);
  part.has_ended = 0;
  part.bytes = taken;
  const CUdeviceptr ended = filling->on_device + filling->filled + offsetof(Part, has_ended);
  filling->filled += taken;
  return {.bytes = reinterpret_cast<std::byte*>(&part) + sizeof(Part), .ended = ended};
}

/// Without the lock: a thread that has it may wait for this.
void staged_copy_is_issued(const Staged& staged, CUstream stream) {
  const AllowedWhileCapturing allowed;
  const CUresult marked = call(real.cuStreamWriteValue64_v2, stream, staged.ended, cuuint64_t{1}, 0u);
  // The stream has failed, and reads nothing any more.
  if (marked != CUDA_SUCCESS) reinterpret_cast<Part*>(staged.bytes - sizeof(Part))->has_ended = 1;
}

/// The driver may still write the old blocks, so they are not used again.
void forget_staging_of_context() {
  const std::lock_guard lock(staging_lock);
  block_count = 0;
  filling = nullptr;
}

void forget_staging() {
  staging_lock.unlock();
  block_count = 0;
  filling = nullptr;
}

}  // namespace gpushare::intercept
