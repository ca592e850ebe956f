// SPDX-License-Identifier: Apache-2.0
// How resident blocks slow one another down: the whole physics of the simulated GPU, as functions.
//
// Inside an SM. A block alternates between stalling (Z = latency - issue, nobody else matters) and issuing, which
// all residents do on the same issue slots. That is a closed queueing network with one processor-sharing station,
// solved by Schweitzer's approximation of mean value analysis: a block of kind k finds every other resident j
// issuing for a share q_j of its time, so
//     t_k = Z_k + I_k (1 + sum_j n_j q_j - q_k),    q_k = (t_k - Z_k) / t_k.
// Block time grows with residency while total time falls and saturates (SRTF Figs. 7 and 8), and a co-runner slows
// a block by what it issues (Figs. 9 and 10).
//
// Beyond the SM. Blocks draw on the bandwidth behind the SMs (CD-search Eq. 2: NoC, last-level cache, DRAM) and
// share it max-min fairly.
#pragma once

#include <span>
#include <vector>

#include "core/device.hpp"
#include "core/kernel.hpp"

namespace gpushare {

/// So many equal blocks resident on one SM.
struct Residents {
  const BlockCost* cost = nullptr;
  int blocks = 0;
};

/// Duration in nanoseconds of one block of each kind while this mix is resident, off-SM bandwidth left aside.
std::vector<double> block_times(std::span<const Residents> mix);

/// Blocks that want to move `bytes` each in a time `block_time` (nanoseconds), `blocks` of them at once.
struct Traffic {
  double bytes = 0;
  double llc_hit_ratio = 0;
  double block_time = 0;
  int blocks = 0;

  bool same_kind(const Traffic& other) const {
    return bytes == other.bytes && llc_hit_ratio == other.llc_hit_ratio && block_time == other.block_time;
  }
};

/// The share of its wanted speed, in (0, 1], that each traffic gets: max-min fair over all blocks of the GPU.
std::vector<double> bandwidth_shares(std::span<const Traffic> traffics, const OffSmBandwidth& off_sm);

}  // namespace gpushare
