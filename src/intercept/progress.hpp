// SPDX-License-Identifier: Apache-2.0
// Publishes the progress of streams to the page: from time to time a stream writes a word there, a mark.
#pragma once

#include "intercept/calls/streams.hpp"

namespace gpushare::intercept {

/// Predicted work between two marks of a stream, in ns, under this lease.
std::uint64_t mark_interval_ns(programs::Lease lease);

/// Makes the stream write the work launched so far as ended, behind all of that work. Does nothing while the stream is
/// captured, another thread does it, or the GPU cannot write there.
void mark(const Membership& member, StreamWords& words, CUstream stream);

/// The host knows that all of this has ended: `launched` as it was at that time.
void note_end(StreamWords& words, std::uint64_t launched);

/// Does the GPU write marks, as far as this is known?
bool has_marks();

/// Where the GPU sees this word of ProcessSlot::progress or ProcessSlot::line; 0 where it does not, or there is no
/// context yet. Not while a stream is captured, unless that is allowed.
CUdeviceptr on_gpu(const Membership& member, const void* word);

/// A context is gone, and the page may not be pinned any more.
void pin_again();

}  // namespace gpushare::intercept
