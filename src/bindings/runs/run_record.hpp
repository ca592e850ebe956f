// SPDX-License-Identifier: Apache-2.0
// Shared by all kinds of runs: figures, policy, and how the user can end the run.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bindings/bindings.hpp"
#include "core/engine/engine.hpp"
#include "core/trace/metrics.hpp"

namespace gpushare::bindings {

/// The results of one run. Times in nanoseconds.
struct RunRecord {
  std::vector<std::int64_t> arrivals;
  std::vector<std::int64_t> ends;
  std::vector<std::int64_t> turnarounds;
  std::vector<std::int64_t> operation_durations;
  std::vector<std::int64_t> sm_busy;
  std::int64_t to_device_busy = 0;
  std::int64_t to_host_busy = 0;
  std::int64_t makespan = 0;
  std::int64_t blocks = 0;
  std::optional<Trace> trace{};
  std::optional<std::int64_t> began{};              // time 0 by the clock of the process, on a real GPU
  std::optional<std::int64_t> longest_pause{};      // of the scheduler's thread, on a real GPU
  std::optional<std::int64_t> without_processor{};  // time of that thread without a processor
};

/// The meters are those of the run's devices.
RunRecord record_of(std::span<const UsageMeter> meters);
std::vector<std::int64_t> counts(const std::vector<Duration>& durations);

/// Ends a run with KeyboardInterrupt when its user presses Ctrl-C, or when the comparison it belongs to has ended.
class Interruption : public RunObserver {
 public:
  /// `ended` is a callable, or None where nothing but Ctrl-C can end the run.
  explicit Interruption(py::object ended) : ended_(std::move(ended)) {}

  void saw(const Event& event) override;
  /// To be called some times a second where events are rare.
  void look() const;
  /// The same, with a callable that returns the names of the launches on the GPU.
  void look(const std::function<std::vector<std::string>()>& on_gpu) const;

 private:
  py::object ended_;
  std::int64_t events_ = 0;
};

/// "cumas+fifo": an ordering, and a sharing policy. A policy in Python has no ordering.
std::pair<std::string, py::object> in_two_parts(const py::object& policy);

/// `world` owns the objects that states, events and policies of one run point to. The policy has been given its seed.
std::unique_ptr<Policy> to_policy(const py::object& policy, std::shared_ptr<const void> world, std::uint64_t run_seed);

}  // namespace gpushare::bindings
