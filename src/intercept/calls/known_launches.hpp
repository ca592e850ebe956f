// SPDX-License-Identifier: Apache-2.0
// Finds the page's record, and thus the predicted time, of a launch by its handle and shape.
#pragma once

#include <atomic>
#include <cstdint>

#include "intercept/driver.hpp"
#include "intercept/membership.hpp"
#include "programs/kernel_records.hpp"

namespace gpushare::intercept {

/// Identifies a launch by its arguments. `handle`: a CUfunction, a CUkernel, or a CUgraphExec, which has no shape.
struct LaunchedThing {
  const void* handle = nullptr;
  programs::LaunchKind kind{};
  programs::LaunchShape shape{};

  friend bool operator==(const LaunchedThing&, const LaunchedThing&) = default;
};

constexpr std::uint64_t unknown_ns = 10'000;
constexpr std::size_t most_launches = 1 << 15;  ///< known launches of a process

/// What an ordinary launch reads of it is in one cache line: a program's own work leaves little of this in a cache.
struct KnownLaunch {
  alignas(64) std::atomic<std::uint64_t> hash;  ///< 0: empty
  LaunchedThing thing;
  std::atomic<std::int32_t> record_index;  ///< into ProgramPage::kernels; -1: the page is full
  std::atomic<std::uint32_t> launches;     ///< of this process; threads at the same time may count as one
  std::atomic<bool> has_enough_samples;    ///< only one in many launches is timed from then on
  std::uint8_t waves_log2;                 ///< how often its blocks fill the GPU, at least, as a power of two
  std::atomic<bool> is_collective;         ///< has a kernel of NCCL, which waits on the GPU for other processes
  /// Graphs with equal numbers of nodes share a record, but each is predicted by its samples alone.
  std::atomic<std::uint32_t> graph_samples;
  std::atomic<std::uint64_t> graph_predicted_ns;

  programs::KernelRecord* record(const Membership& member) const {
    const std::int32_t index = record_index.load(std::memory_order_relaxed);
    return index >= 0 ? &member.page->kernels[static_cast<std::size_t>(index)] : nullptr;
  }
  std::uint64_t samples(const Membership& member) const;
  std::uint64_t known_ns(const Membership& member) const;  ///< 0: not known yet
  std::uint64_t predicted_ns(const Membership& member) const;
  void add_sample(const Membership& member, std::uint64_t ns);
};

/// Where to look for it. The processor fetches that place meanwhile.
std::uint64_t sought_launch(const LaunchedThing& thing);

/// `hash`: sought_launch()'s result. `caller`: an address in the library that launches it. nullptr where this process
/// has launched too many kernels.
KnownLaunch* known_launch(const Membership& member, const LaunchedThing& thing, std::uint64_t hash, void* caller);

/// Below most_launches, and another one for each.
std::size_t index_of(const KnownLaunch& known);

struct GraphContents {
  std::size_t nodes = 0;
  bool has_collective = false;
};

/// A graph that has been instantiated; its handle may have been another graph's before.
void remember_graph(const Membership& member, CUgraphExec graph, const GraphContents& contents, void* caller);

/// Is this CUfunction or CUkernel one of NCCL's?
bool is_collective_kernel(const void* handle);

}  // namespace gpushare::intercept
