// SPDX-License-Identifier: Apache-2.0
// What a session's thread does: it carries out requests, passes on what the device reports, and says how it ended.
#pragma once

#include <map>
#include <optional>

#include "core/session/jobs/job_watcher.hpp"
#include "core/session/session.hpp"
#include "core/trace/trace_recorder.hpp"

namespace gpushare {

class Session::Service {
 public:
  /// The thread's function: from the making of the policy to the last notice of the end.
  static void serve(Session& session);

  // For calls, which the thread carries out.
  SessionStatus status() const { return status_of(run_, gpu_.now()); }
  Time now() const { return gpu_.now(); }
  void change_priority(ApplicationId application, int priority);
  void replace_policy(const MakePolicy& make_policy, const std::string& name);

 private:
  Service(Session& session, LiveGpu& gpu, std::unique_ptr<Policy> policy, std::shared_ptr<OpenWork> work,
          std::shared_ptr<const void> world);

  std::vector<RunObserver*> observers();
  static void serve_on_device(Session& session);
  void serve_until_end();
  void serve_until_closed();
  void give_up();
  void leave_record();
  /// False once the session closes and there is nothing left to do.
  bool take_requests();
  void carry_out(Application& application);
  void carry_out(SubmittedJob& job);
  void carry_out(const Release& release);
  void carry_out(const Withdrawal& withdrawal);
  void carry_out(const EndlessBlock& endless);
  void carry_out(Call* call);
  void forget_ended();
  void require_progress() const;

  Session& session_;
  LiveGpu& gpu_;
  std::shared_ptr<const void> world_;
  std::unique_ptr<Policy> policy_;
  std::optional<TraceRecorder> recorder_;
  JobWatcher watcher_;
  SessionHistory& history_;
  OpenRun run_;
  std::map<JobId, OperationId> held_;
  std::vector<Request> requests_;  // being carried out
};

}  // namespace gpushare
