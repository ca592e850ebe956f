// SPDX-License-Identifier: Apache-2.0
#include "daemon/port_server.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <array>

#include "core/model/errors.hpp"
#include "daemon/channel/peer_errors.hpp"

namespace gpushare::daemon {
namespace {

constexpr std::uint64_t server_bell_name = 0;     // clients are counted from 1
constexpr std::int64_t listen_every = 1'000'000;  // while busy: ends of clients are noticed that often

}  // namespace

PortServer::PortServer(std::shared_ptr<CommandSink> sink, ServerSettings settings)
    : sink_(std::move(sink)),
      settings_(settings),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      scratch_(wire::most_command_bytes),
      spin_(most_spin(settings.most_spin)) {
  require(settings.turn_commands >= 1,
          "turn_commands is 0, expected at least 1: how many commands of a client are served at a time");
  if (epoll_.number() < 0) throw_errno("epoll_create1");
  watch(bell_->descriptor(), server_bell_name);
  thread_ = std::thread([this] { run(); });
}

PortServer::~PortServer() {
  stopping_ = true;
  {
    const std::lock_guard lock(mutex_);
    has_changes_ = true;
  }
  bell_->ring();
  thread_.join();
  for (const auto& port : ports_) {
    port->close();
    sink_->client_gone(port->client());
  }
}

std::pair<std::shared_ptr<ServerPort>, ClientEnds> PortServer::add(const PortLimits& limits) {
  ClientId client{};
  {
    const std::lock_guard lock(mutex_);
    client = ClientId{++clients_};
  }
  auto opened = ServerPort::open(client, limits);
  opened.first->set_server_bell(bell_);
  watch(opened.first->doorbell().descriptor(), static_cast<std::uint64_t>(client));
  {
    const std::lock_guard lock(mutex_);
    changes_.push_back({.added = opened.first});
    has_changes_ = true;
  }
  bell_->ring();
  return opened;
}

void PortServer::remove(ClientId client) {
  std::promise<void> done;
  {
    const std::lock_guard lock(mutex_);
    changes_.push_back({.removed = client, .done = &done});
    has_changes_ = true;
  }
  bell_->ring();
  done.get_future().wait();
}

std::optional<GoneClient> PortServer::wait_gone(Duration timeout) {
  std::unique_lock lock(mutex_);
  if (!somebody_gone_.wait_for(lock, timeout, [&] { return !gone_.empty(); })) return std::nullopt;
  GoneClient first = std::move(gone_.front());
  gone_.pop_front();
  return first;
}

void PortServer::run() {
  while (!stopping_) {
    const bool changed = apply_changes();
    const bool served = serve_round();
    if (monotonic_now() - heard_ > listen_every) hear(0);
    if (!changed && !served) wait_for_work();
  }
  apply_changes();  // no thread waits for a change for ever
}

bool PortServer::apply_changes() {
  if (!has_changes_.load(std::memory_order_acquire)) return false;
  std::deque<Change> changes;
  {
    const std::lock_guard lock(mutex_);
    changes.swap(changes_);
    has_changes_ = false;
  }
  for (Change& change : changes) {
    if (change.added != nullptr) {
      ports_.push_back(std::move(change.added));
    } else {
      drop(change.removed, nullptr);
      change.done->set_value();
    }
  }
  return true;
}

bool PortServer::serve_round() {
  std::size_t served = 0;
  for (std::size_t turn = 0; turn < ports_.size();) {
    const std::shared_ptr<ServerPort> port = ports_[turn];
    try {
      served += port->serve(*sink_, settings_.turn_commands, scratch_);
      ++turn;
    } catch (const PeerViolation& violation) {
      drop(port->client(), violation.what());
    }
  }
  return served > 0;
}

void PortServer::wait_for_work() {
  const std::int64_t start = monotonic_now();
  if (!look_for_work(start + spin_.begin_wait().count())) sleep();
  spin_.end_wait(Duration(monotonic_now() - start));
}

bool PortServer::look_for_work(std::int64_t until) {
  while (monotonic_now() < until) {
    relax();
    if (has_changes_.load(std::memory_order_relaxed) || serve_round()) return true;
  }
  return false;
}

void PortServer::sleep() {
  bell_->announce_sleep();
  bool may_sleep = !has_changes_.load();
  for (const auto& port : ports_) may_sleep = port->try_to_sleep() && may_sleep;
  if (may_sleep) hear(-1);
  bell_->cancel_sleep();
  for (const auto& port : ports_) port->wake_up();
}

void PortServer::hear(int timeout_ms) {
  std::array<epoll_event, 64> events{};
  const int count = ::epoll_wait(epoll_.number(), events.data(), static_cast<int>(events.size()), timeout_ms);
  heard_ = monotonic_now();
  for (int at = 0; at < count; ++at) {
    const std::uint64_t name = events[static_cast<std::size_t>(at)].data.u64;
    if (name == server_bell_name) {
      bell_->hear();
      continue;
    }
    const auto is_named = [&](const auto& port) { return static_cast<std::uint64_t>(port->client()) == name; };
    const auto port = std::ranges::find_if(ports_, is_named);
    if (port != ports_.end() && !(*port)->doorbell().hear()) drop(ClientId{name}, "it has ended, or closed its port");
  }
}

void PortServer::drop(ClientId client, const char* reason) {
  const auto found = std::ranges::find_if(ports_, [&](const auto& port) { return port->client() == client; });
  if (found == ports_.end()) return;
  const std::shared_ptr<ServerPort> port = std::move(*found);
  ports_.erase(found);
  ::epoll_ctl(epoll_.number(), EPOLL_CTL_DEL, port->doorbell().descriptor(), nullptr);
  port->close();
  sink_->client_gone(client);
  if (reason == nullptr) return;  // its removal was requested
  {
    const std::lock_guard lock(mutex_);
    gone_.push_back({.client = client, .reason = reason});
  }
  somebody_gone_.notify_all();
}

void PortServer::watch(int descriptor, std::uint64_t name) {
  epoll_event event{.events = EPOLLIN | EPOLLRDHUP, .data = {.u64 = name}};
  if (::epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, descriptor, &event) != 0) throw_errno("epoll_ctl");
}

}  // namespace gpushare::daemon
