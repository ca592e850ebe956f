// SPDX-License-Identifier: Apache-2.0
#include "cuda/copy_engines.hpp"

#include "cuda/driver.hpp"

namespace gpushare::cuda {
namespace {

gpushare::Event copy_event(EventKind kind, const Submission& submission, Time started, Time now) {
  return {
      .time = now, .started = started, .application = submission.application, .operation = submission.id, .kind = kind};
}

}  // namespace

void CopyQueue::submit(const Submission& submission, const DeviceCopy& copy, Time now,
                       std::vector<gpushare::Event>& events) {
  if (copy.direction == Copy::Direction::ToDevice) {
    GPUSHARE_CU(cuMemcpyHtoDAsync(copy.device, copy.host, copy.bytes, stream_.get()));
  } else {
    GPUSHARE_CU(cuMemcpyDtoHAsync(copy.host, copy.device, copy.bytes, stream_.get()));
  }
  waiting_.push_back({submission, completions_.mark(stream_.get())});
  if (waiting_.size() == 1) start_first(now, events);
}

void CopyQueue::start_first(Time now, std::vector<gpushare::Event>& events) {
  started_ = now;
  events.push_back(copy_event(EventKind::CopyStarted, waiting_.front().submission, now, now));
}

void CopyQueue::collect(Time now, std::vector<gpushare::Event>& events) {
  while (!waiting_.empty() && waiting_.front().end.reached()) {
    completions_.give_back(waiting_.front().end);
    events.push_back(copy_event(EventKind::CopyEnded, waiting_.front().submission, started_, now));
    waiting_.pop_front();
    if (!waiting_.empty()) start_first(now, events);
  }
}

}  // namespace gpushare::cuda
