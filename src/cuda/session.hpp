// SPDX-License-Identifier: Apache-2.0
// An open run on a real GPU, in a thread of its own: work comes in from any thread and is scheduled at once.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/open_run.hpp"
#include "cuda/cuda_gpu.hpp"

namespace gpushare::cuda {

/// What a session leaves behind.
struct SessionRecord {
  Workload workload;
  Trace trace;
};

class Session {
 public:
  /// Makes the session's policy. What is handed over owns all that the states of the session point into.
  using MakePolicy = std::function<std::unique_ptr<Policy>(std::shared_ptr<const void> world)>;

  /// The policy is made, used and destroyed in the session's thread. Throws InvalidInput while another run is on the
  /// GPU.
  Session(std::shared_ptr<LaunchResources> resources, MakePolicy make_policy);
  ~Session() { close(); }

  ApplicationId add(Application application);
  /// Returns a number for wait(): jobs are counted from 0. Throws InvalidInput for a launch that cannot run, and what
  /// the session has failed with.
  std::size_t submit(ApplicationId application, Launch launch, DeviceLaunch code);

  /// Has the job ended within this time? Throws what the session has failed with, unless the job had ended by then.
  bool wait(std::size_t job, Duration timeout);

  /// Waits for all that has been submitted, at most so long. Throws what the session has failed with, and CudaError
  /// where something did not end in time.
  SessionRecord finish(Duration timeout);

  /// Ends everything at the next block boundary; jobs that have not ended fail.
  void close();

 private:
  class JobWatcher;
  struct Job {
    ApplicationId application;
    Launch launch;
    DeviceLaunch code;
  };
  using Request = std::variant<Application, Job>;

  void serve();
  void serve(CudaGpu& gpu, Program& program, Policy& policy, std::shared_ptr<OpenWork> work);
  void serve_until_closed(CudaGpu& gpu, Program& program, OpenRun& run);
  void give_up(CudaGpu& gpu, const OpenRun& run);
  /// False once the session closes and there is nothing left to do.
  bool take_requests(CudaGpu& gpu, Program& program, OpenRun& run);
  void require_progress(const CudaGpu& gpu, const OpenRun& run) const;
  void set_gpu(CudaGpu* gpu);
  void end(std::string reason);
  void fail(std::exception_ptr failure);
  std::string names_on_gpu(const CudaGpu& gpu) const;
  void require_alive() const;

  std::shared_ptr<LaunchResources> resources_;
  MakePolicy make_policy_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Request> requests_;
  std::vector<std::string> names_;  // of applications
  std::vector<bool> ended_;         // by job
  std::size_t unfinished_ = 0;
  std::exception_ptr failure_;
  std::string given_up_;  // why the rest is not waited for
  bool closing_ = false;
  CudaGpu* gpu_ = nullptr;  // while the thread has one
  SessionRecord record_;
  std::thread thread_;
};

}  // namespace gpushare::cuda
