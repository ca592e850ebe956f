// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/session/job_watcher.hpp"
#include "core/session/session.hpp"
#include "core/trace/trace_recorder.hpp"

namespace gpushare {

/// What the session's thread works with.
struct Session::Service {
  Service(Session& session, LiveGpu& device, std::unique_ptr<Policy> first, std::shared_ptr<OpenWork> work,
          std::shared_ptr<const void> owner)
      : gpu(device),
        world(std::move(owner)),
        policy(std::move(first)),
        recorder(session.options_.keeps_record ? std::make_optional<TraceRecorder>() : std::nullopt),
        watcher(session.mutex_, session.changed_, session.ends_, session.jobs_, session.options_.listener),
        history(session.history_),
        run(gpu, *policy, std::move(work), observers(), recorder ? EndedWork::IsKept : EndedWork::IsForgotten,
            session.options_.ordering.get()) {
    watcher.watch(run, gpu);
    history.watch(run);
  }

  std::vector<RunObserver*> observers() {
    if (!recorder) return {&history, &watcher};
    return {&*recorder, &watcher};
  }

  LiveGpu& gpu;
  std::shared_ptr<const void> world;
  std::unique_ptr<Policy> policy;
  std::optional<TraceRecorder> recorder;
  JobWatcher watcher;
  SessionHistory& history;
  OpenRun run;
  std::vector<Request> requests;  // being carried out
};

}  // namespace gpushare
