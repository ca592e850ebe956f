// SPDX-License-Identifier: Apache-2.0
// The launches that are on the GPU according to CudaGpu. After a fault nothing progresses on the GPU, and the words
// that streams set still show what had ended by then.
#include <algorithm>

#include "cuda/cuda_gpu.hpp"

namespace gpushare::cuda {
namespace {

/// A launch that was queued behind another begins when all of that one has ended.
void add_begun(const LaunchOnGpu& launch, std::vector<BegunOperation>& all) {
  if (!launch.hardware().had_any()) return;
  const bool is_off = launch.hardware().have_ended();
  all.push_back({launch.submission().id, is_off ? Stage::OffDevice : Stage::OnDevice});
  if (is_off && launch.follower() != nullptr) add_begun(*launch.follower(), all);
}

}  // namespace

std::vector<BegunOperation> CudaGpu::begun() const {
  std::vector<BegunOperation> all;
  const auto is_on_hardware = [this](OperationId leader) {
    return std::ranges::any_of(launches_, [leader](const auto& launch) {
      return launch->submission().id == leader && !launch->hardware().have_ended();
    });
  };
  for (const auto& launch : launches_) {
    const auto behind = stopped_behind_.find(launch->submission().id);
    if (behind == stopped_behind_.end() || !is_on_hardware(behind->second)) add_begun(*launch, all);
  }
  for (const Followers::Started& each : followers_.started()) add_begun(*each.launch, all);
  for (const Followers::Started& each : followers_.leaving()) {
    if (!is_on_hardware(each.leader)) add_begun(*each.launch, all);
  }
  for (const CopyQueue* copies : {&to_device_, &to_host_}) {
    if (const auto copy = copies->first()) all.push_back({*copy, Stage::OnDevice});
  }
  const auto add_ended = [&all](const gpushare::Event& event) {
    const bool is_end = event.kind == EventKind::LaunchEnded || event.kind == EventKind::CopyEnded;
    if (is_end) all.push_back({event.operation, Stage::Ended});
  };
  std::for_each(events_.begin() + static_cast<std::ptrdiff_t>(next_event_), events_.end(), add_ended);
  std::ranges::for_each(held_ends_, add_ended);
  return all;
}

}  // namespace gpushare::cuda
