// SPDX-License-Identifier: Apache-2.0
#include "cuda/measure/hardware_run.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <unordered_map>

#include "core/engine/application_streams.hpp"
#include "core/model/job_names.hpp"
#include "cuda/driver/driver.hpp"
#include "cuda/driver/green_contexts.hpp"
#include "cuda/launch/grids.hpp"

namespace gpushare::cuda {
namespace {

/// The number of operations of an application in its stream at a time: enough that it never runs empty.
constexpr std::size_t most_operations_ahead = 64;
constexpr Duration hardware_heartbeat_interval(50'000'000);

/// The number of ends that are waited for at a time, with all applications present.
std::size_t most_marks(const Workload& workload) {
  std::size_t most = 1;
  for (const Application& each : workload.applications) most += std::min(each.operations.size(), most_operations_ahead);
  return most;
}

/// The original kernels in one green context.
using Functions = std::unordered_map<const KernelCode*, CUfunction>;

/// The streams of one application's operations.
class Lane {
 public:
  /// Without functions it runs the primary context's.
  Lane(Completions& completions, CUstream stream, const Functions* functions)
      : completions_(completions), stream_(stream), functions_(functions) {}

  void enqueue(const Submission& submission, const DeviceOperation& operation) {
    std::visit([this](const auto& each) { hand_over(each); }, operation);
    // Before its end is marked: a kernel may have faulted by then, and its launch has to be known.
    waiting_.push_back({submission, {}});
    waiting_.back().end = completions_.mark(stream_);
  }
  std::size_t waiting() const { return waiting_.size(); }
  const Submission& first() const { return waiting_.front().submission; }
  bool first_has_ended() const { return !waiting_.empty() && waiting_.front().end.reached(); }
  bool has_ended() const { return waiting_.empty() || waiting_.back().end.reached(); }
  /// The operation of this stream that may be on the GPU. nullptr: all have ended.
  const Submission* first_unended() const {
    const auto found = std::ranges::find_if(waiting_, [](const PendingLaunch& each) { return !each.end.reached(); });
    return found != waiting_.end() ? &found->submission : nullptr;
  }
  void remove_first() {
    completions_.give_back(waiting_.front().end);
    waiting_.pop_front();
  }

 private:
  struct PendingLaunch {
    Submission submission;
    Completion end;
  };

  void hand_over(const DeviceLaunch& launch) {
    const KernelCode& kernel = *launch.kernel;
    CUfunction function = functions_ != nullptr ? functions_->at(&kernel) : kernel.original();
    launch_grid(function, launch.grid, launch, {}, stream_);
  }
  void hand_over(const DeviceCopy& copy) {
    if (copy.direction == Copy::Direction::ToDevice) {
      GPUSHARE_CU(cuMemcpyHtoDAsync(copy.device, copy.host, copy.bytes, stream_));
    } else {
      GPUSHARE_CU(cuMemcpyDtoHAsync(copy.host, copy.device, copy.bytes, stream_));
    }
  }

  Completions& completions_;
  CUstream stream_;
  const Functions* functions_;
  std::deque<PendingLaunch> waiting_;
};

class HardwareRun {
 public:
  HardwareRun(const SharedContext& context, const Workload& workload, const Program& program,
              const HardwareSetup& setup, std::span<RunObserver* const> observers)
      : workload_(workload),
        program_(program),
        setup_(setup),
        observers_(observers),
        completions_(context, most_marks(workload)),
        order_(workload) {
    if (setup.sharing == HardwareSharing::GreenContexts) greens_ = make_green_contexts(context, setup.sms);
    load_all(program);
    for (std::size_t index = 0; index < workload.applications.size(); ++index) add_lane(context, index);
    start_ = Clock::now();
  }

  void run(const HardwareHeartbeat& heartbeat) {
    Time last_heartbeat{};
    while (!order_.finished()) {
      const Time time = now();
      while (order_.next_arrival() && *order_.next_arrival() <= time) arrive(order_.arrive(), time);
      if (setup_.sharing == HardwareSharing::Serial) admit_next(time);
      for (std::size_t index = 0; index < lanes_.size(); ++index) attend(static_cast<ApplicationId>(index));
      if (time - last_heartbeat < hardware_heartbeat_interval) continue;
      last_heartbeat = time;
      check_health();
      heartbeat([this] { return names_on_gpu(); });
    }
  }

  /// The names of the launches that may be on the GPU.
  std::vector<std::string> names_on_gpu() const {
    std::vector<std::string> names;
    for (const Lane& lane : lanes_) {
      const Submission* first = lane.first_unended();
      if (first == nullptr || std::holds_alternative<Copy>(*first->operation)) continue;
      names.push_back(job_name(workload_, first->id));
    }
    return names;
  }

  /// Waits for the end of all operations handed to the hardware; false if that takes longer. Throws CudaError where the
  /// GPU has failed for good.
  bool ends_within(Duration patience) {
    completions_.require_healthy();
    const Time end = now() + patience;
    const auto has_ended = [](const Lane& lane) { return lane.has_ended(); };
    while (!std::ranges::all_of(lanes_, has_ended)) {
      if (now() > end) return false;
    }
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;

  Time now() const { return Time(std::chrono::duration_cast<Duration>(Clock::now() - start_)); }

  static void require_copyable(const DeviceOperation& operation) {
    const auto* launch = std::get_if<DeviceLaunch>(&operation);
    if (launch == nullptr || launch->kernel->may_be_copied()) return;
    throw InvalidInput("green-contexts: kernel '" + launch->kernel->symbol() +
                       "' has variables in device memory, of which each green context would have a separate copy: "
                       "compare without green-contexts, or have the kernel take them as arrays");
  }

  void load_all(const Program& program) {
    functions_.resize(greens_.size());
    if (greens_.empty()) return;
    for (const DeviceOperation& operation : program) require_copyable(operation);
    for (std::size_t green = 0; green < greens_.size(); ++green) {
      for (const DeviceOperation& operation : program) {
        const auto* launch = std::get_if<DeviceLaunch>(&operation);
        if (launch == nullptr || functions_[green].contains(launch->kernel.get())) continue;
        functions_[green][launch->kernel.get()] = greens_[green]->load(*launch->kernel);
      }
    }
  }

  void add_lane(const SharedContext& context, std::size_t index) {
    if (!greens_.empty()) return lanes_.push_back(Lane(completions_, greens_[index]->stream(), &functions_[index]));
    const auto& priorities = context->stream_priorities();
    const int level =
        setup_.sharing == HardwareSharing::Priority ? setup_.levels[index] : static_cast<int>(priorities.size()) - 1;
    const auto last = static_cast<int>(priorities.size()) - 1;
    streams_.push_back(make_stream(context, priorities[static_cast<std::size_t>(std::clamp(level, 0, last))]));
    lanes_.push_back(Lane(completions_, streams_.back().get(), nullptr));
  }

  void tell(EventKind kind, ApplicationId application, OperationId operation, Time time) {
    const gpushare::Event event{.time = time,
                                .started = std::min(began_, time),
                                .application = application,
                                .operation = operation,
                                .kind = kind};
    for (RunObserver* observer : observers_) observer->saw(event);
  }

  void arrive(ApplicationId application, Time time) {
    tell(EventKind::ApplicationArrived, application, {}, time);
    if (setup_.sharing == HardwareSharing::Serial) return arrived_.push_back(application);
    fill(application);
    begin_first(application, time);
  }

  /// One at a time: the next application starts when the one before it has ended.
  void admit_next(Time time) {
    if (arrived_.empty() || admitted_) return;
    const ApplicationId next = arrived_.front();
    arrived_.pop_front();
    admitted_ = true;
    fill(next);
    begin_first(next, time);
  }

  void fill(ApplicationId application) {
    Lane& lane = lanes_[index(application)];
    while (lane.waiting() < most_operations_ahead) {
      const auto& operations = workload_.applications[index(application)].operations;
      if (issued_[index(application)] == operations.size()) return;
      ++issued_[index(application)];
      const auto submission = order_.next(application);
      lane.enqueue(*submission, program_[index(submission->id)]);
    }
  }

  void begin_first(ApplicationId application, Time time) {
    const Submission& first = lanes_[index(application)].first();
    begun_[index(application)] = time;
    began_ = time;
    const bool is_launch = std::holds_alternative<Launch>(*first.operation);
    tell(is_launch ? EventKind::LaunchArrived : EventKind::CopyStarted, application, first.id, time);
  }

  void attend(ApplicationId application) {
    Lane& lane = lanes_[index(application)];
    while (lane.first_has_ended()) {
      const Submission ended = lane.first();
      const Time time = now();
      began_ = begun_[index(application)];
      lane.remove_first();
      const bool is_launch = std::holds_alternative<Launch>(*ended.operation);
      tell(is_launch ? EventKind::LaunchEnded : EventKind::CopyEnded, application, ended.id, time);
      fill(application);
      if (lane.waiting() > 0) {
        begin_first(application, time);
      } else {
        static_cast<void>(order_.next(application));
        admitted_ = false;
        tell(EventKind::ApplicationEnded, application, {}, time);
      }
    }
  }

  void check_health() const {
    for (const Lane& lane : lanes_) {
      if (lane.waiting() > 0) completions_.require_healthy();
    }
  }

  const Workload& workload_;
  const Program& program_;
  const HardwareSetup& setup_;
  std::span<RunObserver* const> observers_;
  Completions completions_;
  ApplicationStreams order_;
  std::vector<std::unique_ptr<GreenContext>> greens_;
  std::vector<Functions> functions_;  // by green context
  std::vector<Stream> streams_;
  std::vector<Lane> lanes_;
  std::vector<std::size_t> issued_ = std::vector<std::size_t>(workload_.applications.size());
  std::vector<Time> begun_ = std::vector<Time>(workload_.applications.size());
  std::deque<ApplicationId> arrived_;
  bool admitted_ = false;
  Time began_{};
  Clock::time_point start_;
};

/// A run that ends early leaves nothing behind on the GPU.
void end_or_abandon(HardwareRun& run, Context& context) {
  constexpr Duration patience(1'000'000'000);
  try {
    if (run.ends_within(patience)) return;
  } catch (const CudaError&) {
  }
  context.abandon();
}

}  // namespace

void run_on_hardware(const SharedContext& context, const Workload& workload, const Program& program,
                     const HardwareSetup& setup, std::span<RunObserver* const> observers,
                     const HardwareHeartbeat& heartbeat) {
  validate(workload, context->description());
  const CurrentContext current(*context);
  HardwareRun run(context, workload, program, setup, observers);
  try {
    run.run(heartbeat);
  } catch (const CudaError& error) {
    const std::string message = failure_among(run.names_on_gpu(), error.what());
    end_or_abandon(run, *context);
    throw CudaError(message);
  } catch (...) {
    end_or_abandon(run, *context);
    throw;
  }
}

}  // namespace gpushare::cuda
