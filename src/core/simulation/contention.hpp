// SPDX-License-Identifier: Apache-2.0
// How resident blocks slow one another down: the whole physics of the simulated GPU, as functions.
//
// Inside an SM. A block alternates between stalling (Z = latency - issue, independent of others) and issuing, which
// all residents do on the same issue slots. That is a closed queueing network with one processor-sharing station,
// solved by Schweitzer's approximation of mean value analysis: a block of kind k finds every other resident j
// issuing for a share q_j of its time, so
//     t_k = Z_k + I_k (1 + sum_j n_j q_j - q_k),    q_k = (t_k - Z_k) / t_k.
// Block time grows with residency while total time falls and saturates (SRTF Figs. 7 and 8), and a co-runner slows
// a block by what it issues (Figs. 9 and 10).
//
// With IssueOrder::OldestFirst, kinds are served in order of age: one finds of the issue slots what the older leave,
//     left_k = 1 - sum_(j older) n_j I_j / t_j,
// so that issuing takes it I_k / left_k instead of I_k, among blocks of its own kind as above (a shadow server). One
// kind alone is what it is with fair slots.
//
// Beyond the SM. Blocks draw on the bandwidth behind the SMs (CD-search Eq. 2: NoC, last-level cache, DRAM) and
// share it max-min fairly. That is all where a paper gives no more than bytes. Of measured kernels it is known which
// part M of their latency is spent in memory; it grows with the utilisation rho of the cache and of DRAM, the latter in
// proportion to the kernel's misses,
//     Z_k + M_k (delay(rho_cache) + misses_k delay(rho_dram)),    rho = sum of bytes / t / bandwidth,
// where each rho follows from the block times and these from the rhos. Near saturation the delay grows without bound.
// DRAM has one queue, so that its bandwidth is shared in proportion to what each has on its way. The cache is reached
// through a network in which every SM has a queue of its own and all are served in turn (credits hold an SM back that
// asks for too much), so that a flood makes the SMs wait from which it comes: with x_s the bytes of an SM in a time,
// the delay of SM s is that of
//     rho_cache,s = sum_(SMs r) min(x_r, x_s) / bandwidth
// (the "fair share" discipline of Shenker, "Making greed work in networks", 1995). SMs with the same blocks have the
// same rho as in a queue for all, the sum of all bytes.
#pragma once

#include <span>
#include <vector>

#include "core/model/device.hpp"
#include "core/model/kernel.hpp"

namespace gpushare {

/// So many equal blocks resident on one SM.
struct Residents {
  const BlockCost* cost = nullptr;
  int blocks = 0;
};

/// Duration in nanoseconds of one block of each kind while this mix is resident, off-SM bandwidth left aside. The mix
/// is in order of age, the oldest first, which matters only where that is the order of issue.
std::vector<double> block_times(std::span<const Residents> mix, IssueOrder order = IssueOrder::Fair);

/// What is added to a block's time in memory, as a factor of that time.
struct MemoryLoad {
  double cache_delay = 0;
  double dram_delay = 0;

  double delay(double misses) const { return cache_delay + misses * dram_delay; }
};

/// A kind that is served before another on the same SM. The more it waits for memory, the more it leaves.
struct OlderKind {
  double stall = 0;  // nanoseconds
  double issue = 0;
  double memory = 0;
  double misses = 0;  // share of `memory` that a busy DRAM makes longer
  int blocks = 0;

  friend bool operator==(const OlderKind&, const OlderKind&) = default;
};

/// What becomes of one kind's block time when memory answers later: with fair slots, the mix issues as much as it does
/// without delay.
struct MemoryWait {
  double stall = 0;  // nanoseconds, as all of these
  double issue = 0;
  double issuing = 0;              // blocks of the whole mix that issue or wait to; of its own kind, where age counts
  double memory = 0;               // 0: only limits of bandwidth matter
  int blocks = 0;                  // of its own kind, where others are older
  std::vector<OlderKind> older{};  // the oldest first; none with fair slots

  /// Duration of a block of which this share of memory accesses misses the cache.
  double block_time(const MemoryLoad& load, double misses) const;
  /// Does the load change it?
  bool depends_on_load() const;

  friend bool operator==(const MemoryWait&, const MemoryWait&) = default;
};

/// As block_times(), one per kind.
std::vector<MemoryWait> memory_waits(std::span<const Residents> mix, IssueOrder order = IssueOrder::Fair);

/// Blocks that want to move `bytes` each in a time `block_time` (nanoseconds), `blocks` of them at once.
struct Traffic {
  double bytes = 0;
  double llc_hit_ratio = 0;
  double block_time = 0;
  int blocks = 0;
  double dram_cost_ratio = 1;
  MemoryWait wait{};
  std::size_t group = 0;  ///< of SMs with the same blocks: those of one group wait for the cache together
  int sms = 1;            ///< in that group; the same for all of its traffics

  double dram_bytes() const { return bytes * (1 - llc_hit_ratio) * dram_cost_ratio; }

  bool same_kind(const Traffic& other) const {
    return bytes == other.bytes && llc_hit_ratio == other.llc_hit_ratio && block_time == other.block_time &&
           dram_cost_ratio == other.dram_cost_ratio && wait == other.wait;
  }
};

/// The share of its wanted speed, in (0, 1], that each traffic gets: max-min fair over all blocks of the GPU, except
/// for those that wait for a busy memory (the larger their `wait.memory`, the more). Above 1 for kinds whose older ones
/// are held up by memory, and leave more than block_times() knows.
std::vector<double> bandwidth_shares(std::span<const Traffic> traffics, const OffSmBandwidth& off_sm);

}  // namespace gpushare
