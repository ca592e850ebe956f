// SPDX-License-Identifier: Apache-2.0
// A connection to one worker of the server: requests and answers over the socket, launches and their ends through the
// rings. One thread reads the socket. Threads that wait for a job read the ring themselves
// (daemon/port/client_port.hpp).
#pragma once

#include <atomic>
#include <condition_variable>
#include <future>
#include <gpushare/client.hpp>
#include <nlohmann/json.hpp>
#include <thread>
#include <unordered_map>

#include "client/arenas.hpp"
#include "client/message_socket.hpp"
#include "daemon/port/client_port.hpp"

namespace gpushare::client {

using daemon::Handle;
using daemon::JobNumber;
using Answer = std::shared_future<Json>;

/// Later times would overflow.
constexpr std::chrono::nanoseconds longest_wait = std::chrono::hours(24 * 365);

/// What an object of the user's is made of. Throws InvalidInput where it has been moved.
template <typename Pointer>
auto& in_place(const Pointer& part, const char* object) {
  if (part == nullptr) throw InvalidInput(std::string("this ") + object + " has been moved to another object");
  return *part;
}

/// Why the connection has ended.
struct Loss {
  std::exception_ptr error;      ///< for later calls
  std::exception_ptr failure{};  ///< of the device or the policy that ended the worker; nullptr: it was not sent
  std::string culprit{};         ///< the application that caused it, where the ends of jobs are not known
};

class Link {
 public:
  /// Waits for a worker that is being started.
  static std::shared_ptr<Link> open(const Options& options);
  Link(ServerPlace place, const Options& options, std::chrono::nanoseconds patience);
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link();

  /// Its name.
  const std::string& device() const { return device_; }
  ArenaPool& arenas() { return arenas_; }

  /// Sends a request and waits for the answer. `fields`: an object. Throws the server's error, or that of the loss.
  Json request(const char* verb, Json fields, int descriptor = -1);
  /// The same where the answer is a handle.
  Handle request_handle(const char* verb, Json fields, int descriptor = -1);
  /// Sends a request; the answer comes later.
  Answer begin(const char* verb, Json fields, int descriptor = -1);
  /// Sends a request whose answer does not matter. After the loss there is nothing to tell.
  void tell(const char* verb, Json fields) noexcept;

  JobNumber launch(const daemon::LaunchRequest& request);
  /// A job that ends when all earlier ones have.
  JobNumber fence();
  /// How the job has ended; nullopt: not in this time. `is_lost`: the connection ended before.
  std::optional<daemon::JobResult> wait(JobNumber job, std::chrono::nanoseconds timeout);
  void forget(JobNumber job) noexcept;
  JobNumber last_job() const { return port_->last_job(); }

  /// Waits for the reason of a loss that was noticed otherwise.
  const Loss& wait_for_loss();
  /// Throws InvalidInput in a forked child, where this belongs to the parent.
  void require_own_process() const;

 private:
  void greet(const Options& options, std::chrono::nanoseconds patience);
  void read() noexcept;
  void take(const Json& message);
  void settle(const Json& message);
  void end(const std::string& reason);
  void lose(Loss loss);
  template <typename Call>
  auto in_port(Call call);

  const ServerPlace place_;
  const pid_t process_;
  MessageSocket socket_;
  std::string device_;
  std::unique_ptr<daemon::ClientPort> port_;
  ArenaPool arenas_;
  std::atomic<bool> is_closing_ = false;

  std::mutex mutex_;
  std::condition_variable is_lost_;
  std::uint64_t last_number_ = 0;
  std::unordered_map<std::uint64_t, std::promise<Json>> replies_;
  std::optional<Loss> loss_;  // written once

  std::thread reader_;
};

}  // namespace gpushare::client
