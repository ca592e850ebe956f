// SPDX-License-Identifier: Apache-2.0
// Assigns words of the process's slot to streams.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "intercept/driver.hpp"
#include "intercept/membership.hpp"
#include "intercept/waiting.hpp"

namespace gpushare::intercept {

/// A handle that no created stream has. By nullptr, functions for per-thread default streams mean another stream.
enum class DefaultStream { Legacy, PerThread };

/// A stream by a handle that means the same to every function.
inline CUstream named(CUstream stream, DefaultStream otherwise) {
  if (stream != nullptr) return stream;
  return otherwise == DefaultStream::Legacy ? CU_STREAM_LEGACY : CU_STREAM_PER_THREAD;
}

/// This process's state for a pair of words, beside the words themselves.
struct StreamWords {
  alignas(64) programs::StreamProgress* progress = nullptr;
  std::uint32_t index = 0;              ///< into ProcessSlot::progress
  CUcontext context = nullptr;          ///< of the stream; of default streams the first one that was seen
  bool is_shared = false;               ///< by several streams
  std::atomic<std::uint64_t> marked{};  ///< `launched` as the last mark writes it
  std::atomic<bool> is_being_marked{};
  Lock launching;  ///< where a launch may be several: none comes in between

  /// Predicted ns that are not known to have ended.
  std::int64_t under_way() const {
    return static_cast<std::int64_t>(progress->launched.load(std::memory_order_relaxed) -
                                     progress->ended.load(std::memory_order_relaxed));
  }
};

/// All words in use, and their number.
std::array<StreamWords, programs::most_streams>& all_words();
std::size_t words_in_use(const Membership& member);

/// The words of a stream as `named` names it. Streams beyond the limit share words.
StreamWords& words_of(const Membership& member, CUstream stream);

/// The current context, where that is the stream's; else nullptr.
CUcontext current_context_of(CUstream stream);

/// Any answer but a clear no counts as capturing: the legacy stream must not be used while another one captures.
inline bool is_capturing(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return call(real.cuStreamIsCapturing, stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace gpushare::intercept
