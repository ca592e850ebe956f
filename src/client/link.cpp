// SPDX-License-Identifier: Apache-2.0
#include "client/link.hpp"

#include <algorithm>
#include <csignal>

#include "core/model/errors.hpp"
#include "daemon/channel/peer_errors.hpp"

namespace gpushare::client {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int protocol_version = 8;  // of python/gpushare/daemon/protocol/limits.py
constexpr std::chrono::milliseconds pause_between_attempts(100);
constexpr std::size_t longest_name = 200;

std::string client_name(const std::string& wanted) {
  std::string name = (wanted.empty() ? program_invocation_short_name : wanted).substr(0, longest_name);
  // Other characters than those of ASCII may have been cut.
  std::ranges::replace_if(name, [](char each) { return each < ' ' || each > '~'; }, '?');
  return name;
}

std::string seconds_of(std::chrono::nanoseconds time) {
  return std::to_string(std::chrono::ceil<std::chrono::seconds>(time).count()) + " s";
}

/// Signals are for the program's own threads.
std::thread started_without_signals(std::function<void()> work) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(work));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

std::shared_ptr<Link> Link::open(const Options& options) {
  const ServerPlace place = server_place(options.socket);
  const auto deadline = Clock::now() + std::clamp<std::chrono::nanoseconds>(options.patience, {}, longest_wait);
  for (;;) {
    try {
      return std::make_shared<Link>(place, options, std::max<Clock::duration>(deadline - Clock::now(), {}));
    } catch (const WorkerLostError&) {
      if (Clock::now() >= deadline) throw;
      std::this_thread::sleep_for(pause_between_attempts);
    }
  }
}

Link::Link(ServerPlace place, const Options& options, std::chrono::nanoseconds patience)
    : place_(std::move(place)), process_(::getpid()), socket_(connected(place_)) {
  greet(options, patience);
  reader_ = started_without_signals([this] { read(); });
}

Link::~Link() {
  if (socket_.is_in_child()) {
    // The thread exists in the parent only.
    static_cast<void>(new std::thread(std::move(reader_)));
    return;
  }
  is_closing_ = true;
  socket_.shut_down();
  reader_.join();
}

void Link::greet(const Options& options, std::chrono::nanoseconds patience) {
  const std::string server = "the server at " + place_.path.native();
  const Json device = options.device.empty() ? Json() : Json(options.device);
  const auto no_answer = [&](const std::exception& error) {
    const std::string time = seconds_of(options.patience);  // of all attempts
    return WorkerLostError(server + " does not answer: " + error.what() + " (for " + time + ")");
  };
  std::vector<FileDescriptor> descriptors;
  Json answer;
  try {
    socket_.set_patience(std::max<std::chrono::nanoseconds>(patience, std::chrono::milliseconds(1)));
    socket_.send(
        {{"v", protocol_version}, {"id", 0}, {"do", "hello"}, {"device", device}, {"name", client_name(options.name)}});
    answer = socket_.receive(descriptors);
    socket_.set_patience({});
  } catch (const NoAnswer& error) {
    throw no_answer(error);
  } catch (const std::system_error& error) {
    throw no_answer(error);
  } catch (const ProtocolError& error) {
    throw ProtocolError(server + " does not speak gpushare's protocol: " + error.what());
  }
  if (answer.contains("error")) std::rethrow_exception(told_error(answer["error"]));
  if (descriptors.size() != 2 || !answer.contains("ok")) {
    throw ProtocolError(server + " does not speak gpushare's protocol: its first answer has no rings");
  }
  try {
    device_ = answer["ok"].at("device").get<std::string>();
    port_ = std::make_unique<daemon::ClientPort>(std::move(descriptors[0]), std::move(descriptors[1]));
  } catch (const gpushare::InvalidInput& error) {
    throw ProtocolError(server + ": " + error.what());
  } catch (const Json::exception& error) {
    throw ProtocolError(server + ": its first answer is not valid: " + error.what());
  }
}

void Link::require_own_process() const {
  if (!socket_.is_in_child()) return;
  throw InvalidInput("this belongs to process " + std::to_string(process_) +
                     ", from which this one was forked: open another session");
}

Json Link::request(const char* verb, Json fields, int descriptor) {
  return begin(verb, std::move(fields), descriptor).get();
}

Handle Link::request_handle(const char* verb, Json fields, int descriptor) {
  const Json answer = request(verb, std::move(fields), descriptor);
  if (!answer.is_number_unsigned()) throw ProtocolError(std::string("the answer to '") + verb + "' is no handle");
  return answer.get<Handle>();
}

Answer Link::begin(const char* verb, Json fields, int descriptor) {
  require_own_process();
  std::unique_lock lock(mutex_);
  if (loss_) std::rethrow_exception(loss_->error);
  const std::uint64_t number = ++last_number_;
  Answer answer = replies_[number].get_future().share();
  lock.unlock();
  fields.update({{"v", protocol_version}, {"id", number}, {"do", verb}});
  try {
    socket_.send(fields, descriptor);
  } catch (const ProtocolError&) {  // too large: nothing was sent
    lock.lock();
    replies_.erase(number);
    throw;
  } catch (const std::system_error& error) {
    end(error.what());  // the answer is this error
  }
  return answer;
}

void Link::tell(const char* verb, Json fields) noexcept {
  if (socket_.is_in_child()) return;
  try {
    fields.update({{"v", protocol_version}, {"id", 0}, {"do", verb}});
    socket_.send(fields);
  } catch (const std::exception&) {  // the connection has ended, and the server has let go of everything
  }
}

void Link::read() noexcept {
  try {
    for (;;) {
      std::vector<FileDescriptor> descriptors;  // no answer to this client's requests has any
      take(socket_.receive(descriptors));
    }
  } catch (const std::exception& error) {
    end(error.what());
  }
}

void Link::take(const Json& message) {
  const auto event = message.find("event");
  if (event == message.end()) return settle(message);
  if (*event == "dropped") lose({.error = told_error(message.value("error", Json()))});
  if (*event != "lost") return;
  const Json failure = message.value("failure", Json());
  lose({.error = told_error(message.value("error", Json())),
        .failure = failure.is_object() ? told_error(failure) : nullptr,
        .culprit = message.value("culprit", "")});
}

void Link::settle(const Json& message) {
  const auto id = message.find("id");
  if (id == message.end() || !id->is_number_unsigned()) throw ProtocolError("an answer has no id");
  std::unique_lock lock(mutex_);
  auto reply = replies_.extract(id->get<std::uint64_t>());
  lock.unlock();
  if (reply.empty()) return;
  if (const auto error = message.find("error"); error != message.end()) {
    reply.mapped().set_exception(told_error(*error));
  } else {
    reply.mapped().set_value(message.value("ok", Json()));
  }
}

void Link::end(const std::string& reason) {
  if (is_closing_) {
    lose({.error = std::make_exception_ptr(InvalidInput("the session is being closed"))});
  } else if (answers(place_)) {
    lose({.error = std::make_exception_ptr(WorkerLostError("the worker has ended, and its memory and jobs are lost (" +
                                                           reason + "): open another session, and submit again"))});
  } else {
    lose({.error =
              std::make_exception_ptr(DaemonGoneError("the server at " + place_.path.native() + " has ended (" +
                                                      reason + "): start gpushare serve, and open another session"))});
  }
}

void Link::lose(Loss loss) {
  std::unique_lock lock(mutex_);
  if (loss_) return;
  loss_ = std::move(loss);
  auto replies = std::exchange(replies_, {});
  lock.unlock();
  socket_.shut_down();
  for (auto& [number, reply] : replies) reply.set_exception(loss_->error);
  is_lost_.notify_all();
  port_->close();
}

const Loss& Link::wait_for_loss() {
  std::unique_lock lock(mutex_);
  is_lost_.wait(lock, [&] { return loss_.has_value(); });
  return *loss_;
}

/// Errors of the core as those of this library.
template <typename Call>
auto Link::in_port(Call call) {
  require_own_process();
  try {
    return call(*port_);
  } catch (const daemon::PeerGone&) {
    std::rethrow_exception(wait_for_loss().error);
  } catch (const daemon::PeerBusy& error) {
    throw TimeoutError(error.what());
  } catch (const daemon::PeerViolation& error) {
    lose({.error = std::make_exception_ptr(ProtocolError(error.what()))});
    std::rethrow_exception(wait_for_loss().error);
  } catch (const gpushare::InvalidInput& error) {
    throw InvalidInput(error.what());
  }
}

JobNumber Link::launch(const daemon::LaunchRequest& request) {
  return in_port([&](daemon::ClientPort& port) { return port.launch(request); });
}

JobNumber Link::fence() {
  return in_port([](daemon::ClientPort& port) { return port.fence(); });
}

std::optional<daemon::JobResult> Link::wait(JobNumber job, std::chrono::nanoseconds timeout) {
  return in_port([&](daemon::ClientPort& port) -> std::optional<daemon::JobResult> {
    try {
      return port.wait(job, std::clamp<std::chrono::nanoseconds>(timeout, {}, longest_wait));
    } catch (const daemon::PeerGone&) {
      return daemon::JobResult{.is_lost = true};
    }
  });
}

void Link::forget(JobNumber job) noexcept { port_->forget(job); }

}  // namespace gpushare::client
