// SPDX-License-Identifier: Apache-2.0
#include "intercept/workers/worker_slots.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>

#include "intercept/forks.hpp"
#include "intercept/waiting.hpp"

namespace gpushare::intercept {
namespace {

/// So many launches with workers may be under way; a program that is alone may be that far ahead of its GPU.
constexpr std::size_t most_slots = 256;
constexpr std::size_t slots_at_a_time = 32;
/// How many events are asked: those of launches that were made long ago come first.
constexpr int most_asked = 4;

std::array<WorkerSlot, most_slots> slots;
std::size_t next_slot = 0;
Lock slots_lock;

bool is_free(const WorkerSlot& slot) { return !slot.is_used || call(real.cuEventQuery, slot.ended) == CUDA_SUCCESS; }

/// With the lock.
WorkerSlot* free_slot(CUcontext context) {
  int asked = 0;
  for (std::size_t step = 0; step < most_slots && asked < most_asked; ++step) {
    WorkerSlot& slot = slots[(next_slot + step) % most_slots];
    if (slot.context != context || slot.is_taken) continue;
    asked += slot.is_used ? 1 : 0;
    if (!is_free(slot)) continue;
    next_slot = (next_slot + step + 1) % most_slots;
    return &slot;
  }
  return nullptr;
}

/// With the lock.
void add_slots(CUcontext context) {
  const auto is_empty = [](const WorkerSlot& slot) { return slot.context == nullptr; };
  if (std::ranges::count_if(slots, is_empty) < std::ptrdiff_t{slots_at_a_time}) return;
  CUdeviceptr memory = 0;
  if (call(real.cuMemAlloc_v2, &memory, slots_at_a_time * WorkerSlot::bytes) != CUDA_SUCCESS) return;
  for (std::size_t index = 0; index < slots_at_a_time; ++index) {
    WorkerSlot made{.control = memory + index * WorkerSlot::bytes, .context = context};
    if (call(real.cuEventCreate, &made.ended, unsigned{CU_EVENT_DISABLE_TIMING}) != CUDA_SUCCESS) return;
    *std::ranges::find_if(slots, is_empty) = made;
  }
}

}  // namespace

WorkerSlot* take_slot(CUcontext context) {
  const std::lock_guard lock(slots_lock);
  WorkerSlot* found = free_slot(context);
  if (found == nullptr) {
    add_slots(context);
    found = free_slot(context);
  }
  if (found != nullptr) found->is_taken = true;
  return found;
}

void give_back(WorkerSlot& slot, bool is_used) {
  const std::lock_guard lock(slots_lock);
  slot.is_used |= is_used;
  slot.is_taken = false;
}

void drop_slots() {
  const std::lock_guard lock(slots_lock);
  for (WorkerSlot& slot : slots) {
    // A taken one belongs to a launch that is being made, so its context still exists.
    if (!slot.is_taken) slot = {};
  }
}

void forget_slots() {
  slots_lock.unlock();
  slots.fill({});
}

}  // namespace gpushare::intercept
