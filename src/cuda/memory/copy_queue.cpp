// SPDX-License-Identifier: Apache-2.0
#include "cuda/memory/copy_queue.hpp"

#include "cuda/driver/driver.hpp"

namespace gpushare::cuda {
namespace {

/// A longer queue would make the driver block the calling thread, which is the scheduler's.
constexpr std::size_t most_in_stream = 64;

gpushare::Event copy_event(EventKind kind, const Submission& submission, Time started, Time now) {
  return {
      .time = now, .started = started, .application = submission.application, .operation = submission.id, .kind = kind};
}

}  // namespace

void CopyQueue::submit(const Submission& submission, const DeviceCopy& copy, Time now,
                       std::vector<gpushare::Event>& events) {
  const bool was_idle = in_stream_.empty();
  copies_[submission.id] = copy;
  line_.add(submission);
  send_all();
  if (was_idle) start_first(now, events);
}

/// Whole copies follow one another without intervention of the host.
bool CopyQueue::may_send() const {
  if (line_.empty() || in_stream_.size() >= most_in_stream) return false;
  if (in_stream_.empty()) return true;
  return in_stream_.back().piece.lets_follow(in_stream_.size()) && line_.next_may_join(in_stream_.size());
}

void CopyQueue::send_all() {
  while (may_send()) send(line_.take());
}

void CopyQueue::send(const CopyPiece& piece) {
  const DeviceCopy& copy = copies_.at(piece.copy.id);
  const auto offset = static_cast<std::size_t>(piece.offset);
  const auto bytes = static_cast<std::size_t>(piece.size.count);
  std::byte* host = static_cast<std::byte*>(copy.host) + offset;
  if (copy.direction == Copy::Direction::ToDevice) {
    GPUSHARE_CU(cuMemcpyHtoDAsync(copy.device + offset, host, bytes, stream_.get()));
  } else {
    GPUSHARE_CU(cuMemcpyDtoHAsync(host, copy.device + offset, bytes, stream_.get()));
  }
  in_stream_.push_back({piece, completions_.mark(stream_.get())});
}

/// A copy starts when the one before it has ended, independent of its submission.
void CopyQueue::start_first(Time now, std::vector<gpushare::Event>& events) {
  const CopyPiece& piece = in_stream_.front().piece;
  if (!piece.is_first()) return;
  starts_.begin(piece, now);
  events.push_back(copy_event(EventKind::CopyStarted, piece.copy, now, now));
}

void CopyQueue::collect(Time now, std::vector<gpushare::Event>& events) {
  while (!in_stream_.empty() && in_stream_.front().end.reached()) {
    const CopyPiece ended = in_stream_.front().piece;
    completions_.give_back(in_stream_.front().end);
    in_stream_.pop_front();
    send_all();
    if (ended.is_last) {
      events.push_back(copy_event(EventKind::CopyEnded, ended.copy, starts_.end(ended), now));
      copies_.erase(ended.copy.id);
    }
    if (!in_stream_.empty()) start_first(now, events);
  }
}

}  // namespace gpushare::cuda
