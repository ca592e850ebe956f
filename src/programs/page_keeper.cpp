// SPDX-License-Identifier: Apache-2.0
#include "programs/page_keeper.hpp"

#include <csignal>

#include <algorithm>
#include <cerrno>

#include "programs/futex.hpp"

namespace gpushare::programs {
namespace {

/// Up to its end, which need not be there: programs write it.
template <std::size_t size>
std::string text_of(const std::array<char, size>& bytes) {
  return {bytes.begin(), std::ranges::find(bytes, '\0')};
}

ProcessSummary summary_of(const ProcessSlot& slot, std::int32_t pid) {
  return {.pid = pid,
          .launches = slot.launches.load(),
          .memory_bytes = slot.memory_bytes.load(),
          .held_ns = slot.held_ns.load(),
          .limited_ns = slot.limited_ns.load(),
          .let_go = slot.let_go.load()};
}

bool is_dead(std::int32_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

}  // namespace

PageKeeper::PageKeeper(std::uint64_t memory_limit_bytes, std::uint64_t longest_hold_ns)
    : memory_(daemon::SharedMemory::create("gpushare program", sizeof(ProgramPage))) {
  page().magic = page_magic;
  page().version = page_version;
  page().keeper_pid = ::getpid();
  page().memory_limit_bytes = memory_limit_bytes;
  page().longest_hold_ns = longest_hold_ns;
}

void PageKeeper::free_program() {
  page().lease.store(Lease{}.word());
  wake_all(page().lease);
}

std::vector<ProcessSummary> PageKeeper::take_dead() {
  std::vector<ProcessSummary> dead;
  for (ProcessSlot& slot : page().processes) {
    std::int32_t pid = slot.pid.load();
    if (pid <= 0 || !is_dead(pid)) continue;
    dead.push_back(summary_of(slot, pid));
    slot.memory_bytes.store(0);
    slot.pid.compare_exchange_strong(pid, 0);
  }
  return dead;
}

std::vector<ProcessSummary> PageKeeper::processes() const {
  std::vector<ProcessSummary> all;
  for (const ProcessSlot& slot : page().processes) {
    if (const std::int32_t pid = slot.pid.load(); pid > 0) all.push_back(summary_of(slot, pid));
  }
  return all;
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

void PageKeeper::predict(std::uint64_t key, std::uint64_t ns) {
  if (key == 0) return;
  for (std::size_t step = 0; step < most_kernels; ++step) {
    KernelRecord& record = page().kernels[(key + step) % most_kernels];
    std::uint64_t found = 0;
    if (record.key.compare_exchange_strong(found, key) || found == key) {
      record.predicted_ns.store(ns);
      return;
    }
  }
}

}  // namespace gpushare::programs
