// SPDX-License-Identifier: Apache-2.0
#include "programs/page_keeper.hpp"

#include <unistd.h>

#include <algorithm>
#include <functional>

#include "programs/futex.hpp"
#include "programs/kernel_records.hpp"
#include "programs/process_state.hpp"
#include "programs/program_tasks.hpp"
#include "programs/worker_words.hpp"

namespace gpushare::programs {
namespace {

/// The text up to its end, or up to the size where there is no end: programs write it.
template <std::size_t size>
std::string text_of(const std::array<char, size>& bytes) {
  return {bytes.begin(), std::ranges::find(bytes, '\0')};
}

}  // namespace

PageKeeper::PageKeeper(std::uint64_t memory_limit_bytes, std::uint64_t longest_hold_ns, bool makes_workers)
    : memory_(daemon::SharedMemory::create("gpushare program", sizeof(ProgramPage))) {
  page().magic = page_magic;
  page().version = page_version;
  page().keeper_pid = ::getpid();
  page().memory_limit_bytes = memory_limit_bytes;
  page().longest_hold_ns = longest_hold_ns;
  page().makes_workers = makes_workers ? 1 : 0;
  let_workers_go(page().workers);
}

void PageKeeper::free_program() {
  let_workers_go(page().workers);
  page().lease.store(Lease{}.word());
  wake_all(page().lease);
  stop_ordering(page());
}

void PageKeeper::hold_program() {
  page().lease.store(Lease{LeaseState::Held}.word());
  hold_workers(page().workers);
  wake_all(page().lease);
}

int PageKeeper::stopped_streams() const {
  int stopped = 0;
  for (const ProcessSlot& slot : page().processes) {
    if (slot.pid.load() <= 0) continue;
    const std::size_t streams = std::min<std::size_t>(slot.streams.load(), most_streams);
    for (std::size_t stream = 0; stream < streams; ++stream) stopped += slot.progress[stream].stopped.load() != 0;
  }
  return stopped;
}

void PageKeeper::release_dead() {
  for (ProcessSlot& slot : page().processes) {
    std::int32_t pid = slot.pid.load();
    if (pid <= 0) continue;
    const bool has_ended = is_dead(pid);
    // Others need not wait for its work while the driver ends its context.
    const bool leaves_work = (slot.streams.load() != 0 || slot.waiting.load() != 0) && is_ending(pid);
    if (!has_ended && !leaves_work) continue;
    // The keeper's pid in between, so that no process takes the place before its memory is 0.
    if (!slot.pid.compare_exchange_strong(pid, page().keeper_pid)) continue;
    slot.streams.store(0);
    slot.waiting.store(0);
    slot.collectives.store(0);
    slot.line.owner.store(0);
    raise(slot.line.go, go_always);
    if (has_ended) slot.memory_bytes.store(0);
    slot.pid.store(has_ended ? 0 : pid);
  }
}

std::vector<std::int32_t> PageKeeper::processes() const {
  std::vector<std::int32_t> all;
  for (const ProcessSlot& slot : page().processes) {
    if (const std::int32_t pid = slot.pid.load(); pid > 0) all.push_back(pid);
  }
  return all;
}

std::uint64_t PageKeeper::memory_bytes() const {
  std::uint64_t bytes = 0;
  for (const ProcessSlot& slot : page().processes) bytes += slot.pid.load() > 0 ? slot.memory_bytes.load() : 0;
  return bytes;
}

ProgramTotals PageKeeper::totals() const {
  ProgramTotals totals;
  for (const ProcessSlot& slot : page().processes) {
    totals.launches += slot.launches.load();
    totals.held_ns += slot.held_ns.load();
    totals.limited_ns += slot.limited_ns.load();
    totals.let_go += slot.let_go.load();
    totals.worker_launches += slot.worker_launches.load();
    totals.evictions += slot.evictions.load();
  }
  return totals;
}

std::vector<KernelSummary> PageKeeper::kernels() const {
  std::vector<KernelSummary> all;
  for (const KernelRecord& record : page().kernels) {
    if (record.is_named.load(std::memory_order_acquire) == 0) continue;
    const std::uint32_t library = record.library;
    all.push_back({.key = record.key.load(),
                   .kind = record.kind,
                   .name = text_of(record.name),
                   .library = library < most_libraries ? text_of(page().libraries[library].name) : "",
                   .grid = record.grid,
                   .block = record.block,
                   .shared_bytes = record.shared_bytes,
                   .launches = record.launches.load(),
                   .samples = record.samples.load(),
                   .sampled_ns = record.sampled_ns.load(),
                   .predicted_ns = record.predicted_ns.load()});
  }
  return all;
}

std::vector<WholeReason> PageKeeper::whole_reasons() const {
  std::vector<WholeReason> all;
  for (const Remark& remark : page().remarks) {
    if (const std::uint64_t count = remark.count.load(); count > 0) all.push_back({text_of(remark.text), count});
  }
  std::ranges::sort(all, std::greater{}, &WholeReason::count);
  return all;
}

void PageKeeper::predict(std::uint64_t key, std::uint64_t ns) {
  if (key == 0) return;
  const auto place = place_of(page().kernels, key, most_places_for_a_shape);
  if (place) page().kernels[*place].predicted_ns.store(ns);
}

}  // namespace gpushare::programs
