// SPDX-License-Identifier: Apache-2.0
// Pinned memory of this library's own, from which copies go to the device: the program may use its memory again at
// once, though the copy waits behind a gate.
#pragma once

#include <cstddef>

#include "intercept/driver.hpp"
#include "intercept/membership.hpp"

namespace gpushare::intercept {

/// Bytes for one copy.
struct Staged {
  std::byte* bytes = nullptr;  ///< none: there can be no more
  CUdeviceptr ended = 0;       ///< the word in which the copy's end is noted
};

/// What a copy takes at most.
constexpr std::size_t most_staged_bytes = (4 << 20) - 64;

/// To be called before a copy of so many bytes, and before its gate: some memory for them, as pinning it may have to
/// wait for work of the GPU.
void prepare_staging(const Membership& member, std::size_t bytes);
/// So many bytes. Where too many are under way, the task is complete, and this waits for the end of earlier copies.
Staged stage(const Membership& member, std::size_t bytes, CUstream stream);
/// The copy has been put into the stream, or will never be.
void staged_copy_is_issued(const Staged& staged, CUstream stream);

/// A context is gone, and the memory may not be pinned any more.
void forget_staging_of_context();

}  // namespace gpushare::intercept
