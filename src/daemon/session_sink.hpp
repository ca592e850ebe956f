// SPDX-License-Identifier: Apache-2.0
// Passes clients' commands to a session (core/session) on any device, and the ends of its jobs back to them.
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <variant>

#include "core/session/session.hpp"
#include "daemon/command_sink.hpp"
#include "daemon/host_copier.hpp"
#include "daemon/session_application.hpp"

namespace gpushare::daemon {

/// The session's data of a kernel: KernelEntry::code points to it with this sink.
struct SessionKernel {
  Kernel model;
  /// The launch in the device's form; empty where the device needs none, such as a simulated one.
  std::function<std::shared_ptr<const DeviceCode>(const LaunchCommand&)> code_of{};
};

/// Converts a copy to the device's form. Empty: arrays are host memory, and this process copies when the session
/// reports the end of the copy.
using CopyCode = std::function<std::shared_ptr<const DeviceCode>(const CopyCommand&)>;

struct SessionSinkOptions {
  CopyCode copy_code{};
  std::shared_ptr<Ordering> ordering{};  ///< as SessionOptions has it
  bool keeps_record = false;             ///< of everything since the session began: without end, in a daemon
};

/// Applications that have no ApplicationEntry::in_session are refused.
class SessionSink : public CommandSink, private SessionListener {
 public:
  SessionSink(LiveDevice device, Session::MakePolicy make_policy, SessionSinkOptions options = {});
  ~SessionSink() override;

  Session& session() { return session_; }

  void launch(LaunchCommand&& command) override;
  void copy(CopyCommand&& command) override;
  /// Withdraws those of its applications that have submitted something.
  void client_gone(ClientId client) noexcept override;

  /// The session's failure, once its jobs have been told. nullptr: none in time.
  std::exception_ptr wait_failure(Duration timeout);

 private:
  using ApplicationPtr = std::shared_ptr<SessionApplication>;
  using Command = std::variant<LaunchCommand, CopyCommand>;

  template <typename Submitted>
  void submit(Submitted&& command, Operation operation, std::shared_ptr<const DeviceCode> code);
  void job_ended(const gpushare::JobEnd& end) override;
  void session_failed(const SessionFailure& failure) override;

  const SessionSinkOptions options_;
  HostCopier copier_;
  std::mutex mutex_;
  std::unordered_map<JobId, Command> unfinished_;
  std::exception_ptr failure_;
  std::condition_variable failed_;
  std::unordered_map<ClientId, std::unordered_set<ApplicationPtr>> applications_;  // that have submitted something
  Session session_;  // last: its thread tells of ends from the start
};

}  // namespace gpushare::daemon
