// SPDX-License-Identifier: Apache-2.0
// How the page comes to know what of a stream's work has ended: the stream writes a word, a mark, every now and then.
#pragma once

#include "intercept/calls/streams.hpp"

namespace gpushare::intercept {

/// Predicted work between two marks of a stream, in ns, under this lease.
std::uint64_t mark_interval_ns(programs::Lease lease);

/// Has the stream write what has been launched in it so far as ended, behind all of that. Does nothing while the stream
/// is captured, another thread does it, or the GPU cannot write there.
void mark(const Membership& member, StreamWords& words, CUstream stream);

/// The host knows that all of this has ended: `launched` as it was.
void note_end(StreamWords& words, std::uint64_t launched);

/// Whether the GPU writes marks, as far as this is known.
bool has_marks();

/// A context is gone, and the page may not be pinned any more.
void pin_again();

}  // namespace gpushare::intercept
