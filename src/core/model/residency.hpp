// SPDX-License-Identifier: Apache-2.0
// How many blocks fit an SM: the four occupancy limits of the CUDA occupancy calculator.
#pragma once

#include <string>

#include "core/model/device.hpp"
#include "core/model/kernel.hpp"

namespace gpushare {

/// The resources of one block, with every need rounded up to the device's allocation units.
struct BlockFootprint {
  int threads = 0;
  int warps = 0;
  int registers = 0;
  std::int64_t shared_memory_bytes = 0;
  friend bool operator==(const BlockFootprint&, const BlockFootprint&) = default;
};

BlockFootprint footprint(const Device& device, const BlockNeeds& needs);

/// Blocks per SM as each resource alone would allow them.
struct ResidencyLimits {
  int by_blocks = 0;
  int by_threads = 0;  ///< threads and warps
  int by_registers = 0;
  int by_shared_memory = 0;

  int smallest() const;
  std::string tightest() const;  ///< the name of the resource that sets smallest()
};

ResidencyLimits residency_limits(const Device& device, const BlockNeeds& needs);

/// The maximum residency R of a kernel on a device (SRTF, section 3.1); 0 if no block fits.
int max_residency(const Device& device, const BlockNeeds& needs);

/// How the driver splits an SM's L1 cache for this kernel: as little shared memory as its maximum residency needs. Zero
/// where the device has no splits.
Bytes shared_memory_split(const Device& device, const BlockNeeds& needs);

/// How many blocks of one kernel fit an SM beside so many of another.
int residency_beside(const Device& device, const BlockNeeds& needs, const BlockNeeds& others, int other_blocks);

/// The free resources of one SM while blocks come and go.
class SmRoom {
 public:
  explicit SmRoom(const SmCapacity& capacity);
  bool fits(const BlockFootprint& block, int blocks = 1) const {
    return blocks_ >= blocks && is_enough(warps_, block.warps, blocks) && is_enough(threads_, block.threads, blocks) &&
           is_enough(registers_, block.registers, blocks) &&
           is_enough(shared_memory_bytes_, block.shared_memory_bytes, blocks);
  }
  /// May take more than is left.
  void take(const BlockFootprint& block, int blocks = 1);
  void give_back(const BlockFootprint& block, int blocks = 1) { take(block, -blocks); }
  /// How many more blocks of this footprint fit. Negative or zero where more has been taken than there was.
  int count(const BlockFootprint& block) const;
  /// The same, but not below zero and at most `most`. Faster where all of these fit, or none.
  int count(const BlockFootprint& block, int most) const {
    if (most <= 0 || !fits(block)) return 0;
    return fits(block, most) ? most : count(block);
  }

 private:
  /// A resource of which a block needs nothing is no limit, even where more of it has been taken than there was.
  template <typename Integer>
  static bool is_enough(Integer room, Integer need, int blocks) {
    return need == 0 || room >= blocks * need;
  }

  int blocks_;
  int warps_;
  int threads_;
  int registers_;
  std::int64_t shared_memory_bytes_;
};

}  // namespace gpushare
