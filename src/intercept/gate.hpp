// SPDX-License-Identifier: Apache-2.0
// The gate at which launches wait for the lease.
#pragma once

#include "intercept/calls/streams.hpp"

namespace gpushare::intercept {

/// Waits as this value of the lease requires.
void obey(const Membership& member, StreamWords& words, CUstream stream, programs::Lease lease);

/// A collective has been launched: processes that are behind may be held, and have to launch theirs.
void note_collective(const Membership& member);

/// To be called before a launch that is not captured. In the common case one load.
inline void pass_gate(const Membership& member, StreamWords& words, CUstream stream) {
  const auto lease = programs::Lease::of(member.page->lease.load(std::memory_order_acquire));
  if (lease.state != programs::LeaseState::Free) [[unlikely]]
    obey(member, words, stream, lease);
}

}  // namespace gpushare::intercept
