// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_gpu_set.hpp"

#include <algorithm>
#include <thread>

namespace gpushare::cuda {
namespace {

/// A thread without work looks that often whether the user has ended the run.
constexpr Duration longest_sleep_of_set(50'000'000);
/// A thread that sleeps wakes up late.
constexpr Duration wake_up_delay(150'000);

WallClock started() {
  const WallClock clock;
  clock.elapsed();
  return clock;
}

}  // namespace

/// A GPU whose calls may come while the context of another one is current.
class CudaGpuSet::InContext final : public Gpu {
 public:
  InContext(const GpuOfSet& of, WallClock clock)
      : context_(*of.resources->context), gpu_(*of.resources, *of.program, clock) {}

  CudaGpu& gpu() { return gpu_; }
  const Context& context() const { return context_; }

  const Device& device() const override { return gpu_.device(); }
  void submit(const Submission& submission) override {
    const CurrentContext current(context_);
    gpu_.submit(submission);
  }
  void announce(const Submission& next) override {
    const CurrentContext current(context_);
    gpu_.announce(next);
  }
  bool is_leaving(OperationId announced) const override { return gpu_.is_leaving(announced); }
  void apply(const Plan& plan) override {
    const CurrentContext current(context_);
    gpu_.apply(plan);
  }
  void admit(OperationId launch) override {
    const CurrentContext current(context_);
    gpu_.admit(launch);
  }
  void withdraw(OperationId operation) override {
    const CurrentContext current(context_);
    gpu_.withdraw(operation);
  }
  std::optional<gpushare::Event> next_event(std::optional<Time> deadline) override {
    const CurrentContext current(context_);
    return gpu_.next_event(deadline);
  }

 private:
  const Context& context_;
  CudaGpu gpu_;
};

CudaGpuSet::CudaGpuSet(std::span<const GpuOfSet> gpus) : clock_(started()) {
  for (const GpuOfSet& each : gpus) gpus_.push_back(std::make_unique<InContext>(each, clock_));
}

/// In reverse order, as each makes its context current for as long as it exists.
CudaGpuSet::~CudaGpuSet() {
  while (!gpus_.empty()) gpus_.pop_back();
}

Gpu& CudaGpuSet::at(DeviceId device) { return *gpus_.at(index(device)); }

const CudaGpu& CudaGpuSet::gpu(std::size_t device) const { return gpus_.at(device)->gpu(); }

/// What the other GPUs have seen and not reported gets the time of this event, or a later one, and all have reached the
/// deadline where it is over: so times never decrease.
std::optional<DeviceEvent> CudaGpuSet::next_event(std::optional<Time> deadline) {
  while (true) {
    bool has_work = false;
    const Time now = clock_.elapsed();
    const Time until = deadline ? std::min(now, *deadline) : now;
    for (std::size_t device = 0; device < gpus_.size(); ++device) {
      const auto event = gpus_[device]->next_event(until);
      if (event) {
        for (const auto& other : gpus_) {
          if (other != gpus_[device]) other->gpu().now();
        }
        return DeviceEvent{.device = static_cast<DeviceId>(device), .event = *event};
      }
      has_work |= !gpus_[device]->gpu().is_idle();
    }
    if (deadline && until == *deadline) return std::nullopt;
    if (has_work) continue;
    if (!deadline) return std::nullopt;
    const Duration left = *deadline - clock_.elapsed() - wake_up_delay;
    if (left > Duration{}) std::this_thread::sleep_for(std::min(left, longest_sleep_of_set));
  }
}

void CudaGpuSet::set_heartbeat(const std::function<void()>& heartbeat) {
  for (const auto& each : gpus_) each->gpu().set_heartbeat(heartbeat);
}

void CudaGpuSet::stop(Duration patience) {
  for (const auto& each : gpus_) {
    const CurrentContext current(each->context());
    each->gpu().stop(patience);
  }
}

}  // namespace gpushare::cuda
