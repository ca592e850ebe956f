// SPDX-License-Identifier: Apache-2.0
#include "client/message_socket.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <gpushare/client.hpp>
#include <nlohmann/json.hpp>
#include <thread>

namespace gpushare::client {
namespace {

using daemon::throw_errno;

constexpr std::size_t most_message_bytes = 1 << 20;
constexpr std::size_t most_descriptors = 4;
constexpr std::chrono::seconds send_patience(5);

timeval as_timeval(std::chrono::nanoseconds time) {
  const auto microseconds = std::chrono::ceil<std::chrono::microseconds>(time).count();
  return {.tv_sec = microseconds / 1'000'000, .tv_usec = microseconds % 1'000'000};
}

void set_timeout(int socket, int option, std::chrono::nanoseconds time) {
  const timeval timeout = as_timeval(time);
  if (::setsockopt(socket, SOL_SOCKET, option, &timeout, sizeof(timeout)) != 0) throw_errno("a timeout of a socket");
}

/// Room for the control message with descriptors.
struct ControlBuffer {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(most_descriptors * sizeof(int))> bytes{};
};

void take_descriptors(msghdr& message, std::vector<FileDescriptor>& descriptors) {
  for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr; each = CMSG_NXTHDR(&message, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (each->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t place = 0; place < count; ++place) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(each) + place * sizeof(int), sizeof(number));
      descriptors.emplace_back(number);
    }
  }
  if ((message.msg_flags & MSG_CTRUNC) != 0)
    throw ProtocolError("descriptors of a message were lost: too many are open");
}

/// The first bytes of a message, with a descriptor where there is one. Returns how many were sent.
std::size_t send_some(int socket, std::span<const std::uint8_t> bytes, int descriptor) {
  iovec content{.iov_base = const_cast<std::uint8_t*>(bytes.data()), .iov_len = bytes.size()};
  msghdr message{.msg_iov = &content, .msg_iovlen = 1};
  ControlBuffer control;
  if (descriptor >= 0) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = CMSG_SPACE(sizeof(int));
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof(descriptor));
  }
  for (;;) {
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno != EINTR) return 0;
  }
}

FileDescriptor connected_socket(const std::filesystem::path& path) {
  sockaddr_un address{.sun_family = AF_UNIX};
  const std::string& text = path.native();
  if (text.size() >= sizeof(address.sun_path)) {
    throw InvalidInput(text + ": is too long for a socket, where a path has at most " +
                       std::to_string(sizeof(address.sun_path) - 1) + " bytes: name another");
  }
  std::memcpy(address.sun_path, text.c_str(), text.size() + 1);
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.number() < 0) throw_errno("socket");
  if (::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) throw_errno(text);
  return socket;
}

}  // namespace

ServerPlace server_place(const std::string& named) {
  if (!named.empty()) return {.path = named, .is_named = true};
  if (const char* chosen = std::getenv("GPUSHARE_SOCKET"); chosen != nullptr && *chosen != '\0') {
    return {.path = chosen, .is_named = true};
  }
  std::error_code unreadable;  // where a folder cannot be, there is none
  const char* const folder = std::getenv("XDG_RUNTIME_DIR");
  if (folder != nullptr && std::filesystem::is_directory(folder, unreadable)) {
    return {.path = std::filesystem::path(folder) / "gpushare.sock"};
  }
  std::filesystem::path temporary = std::filesystem::temp_directory_path(unreadable);
  if (unreadable) temporary = "/tmp";
  return {.path = temporary / ("gpushare-" + std::to_string(::getuid()) + ".sock")};
}

FileDescriptor connected(const ServerPlace& place) {
  const std::string name = place.path.native();
  try {
    FileDescriptor socket = connected_socket(place.path);
    ucred server{};
    socklen_t bytes = sizeof(server);
    if (::getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &server, &bytes) != 0) throw_errno(name);
    if (!place.is_named && server.uid != ::getuid() && server.uid != 0) {
      throw RefusedError(name + " is served by user " + std::to_string(server.uid) +
                         ", not by you: name the socket if you trust that user");
    }
    return socket;
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::permission_denied) throw RefusedError(name + ": you may not connect there");
    throw DaemonGoneError("no server at " + name + " (" + error.code().message() + "): start gpushare serve");
  }
}

bool answers(const ServerPlace& place) {
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  try {
    connected_socket(place.path);
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

MessageSocket::MessageSocket(FileDescriptor socket) : socket_(std::move(socket)), fork_guard_(socket_.number()) {
  set_timeout(socket_.number(), SO_SNDTIMEO, send_patience);
}

void MessageSocket::set_patience(std::chrono::nanoseconds patience) {
  set_timeout(socket_.number(), SO_RCVTIMEO, patience);
}

void MessageSocket::shut_down() noexcept { ::shutdown(socket_.number(), SHUT_RDWR); }

void MessageSocket::send(const Json& message, int descriptor) {
  std::vector<std::uint8_t> bytes(sizeof(std::uint32_t));
  Json::to_msgpack(message, bytes);
  const std::size_t body = bytes.size() - sizeof(std::uint32_t);
  if (body > most_message_bytes) {
    throw ProtocolError("a message of " + std::to_string(body) + " bytes; at most " +
                        std::to_string(most_message_bytes) + " can be sent");
  }
  const auto length = static_cast<std::uint32_t>(body);
  std::memcpy(bytes.data(), &length, sizeof(length));
  const std::lock_guard lock(sending_);
  const auto deadline = std::chrono::steady_clock::now() + send_patience;
  for (std::span<const std::uint8_t> left(bytes); !left.empty(); descriptor = -1) {
    const std::size_t sent = send_some(socket_.number(), left, descriptor);
    left = left.subspan(sent);
    const bool is_late = sent == 0 ? errno == EAGAIN : !left.empty() && std::chrono::steady_clock::now() > deadline;
    if (is_late) {
      shut_down();  // a part of the message may have been sent, so none can follow
      throw TimeoutError("the server has not read for " + std::to_string(send_patience.count()) + " s");
    }
    if (sent == 0) throw_errno("the server's socket");
  }
}

void MessageSocket::receive_exactly(std::span<std::byte> bytes, std::vector<FileDescriptor>& descriptors) {
  while (!bytes.empty()) {
    iovec content{.iov_base = bytes.data(), .iov_len = bytes.size()};
    ControlBuffer control;
    msghdr message{.msg_iov = &content,
                   .msg_iovlen = 1,
                   .msg_control = control.bytes.data(),
                   .msg_controllen = control.bytes.size()};
    const ssize_t count = ::recvmsg(socket_.number(), &message, MSG_CMSG_CLOEXEC);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) throw NoAnswer("it has not answered in time");
    if (count < 0) throw_errno("the server's socket");
    if (count == 0) throw NoAnswer("the connection has ended");
    take_descriptors(message, descriptors);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

Json MessageSocket::receive(std::vector<FileDescriptor>& descriptors) {
  std::uint32_t length = 0;
  receive_exactly(std::as_writable_bytes(std::span(&length, 1)), descriptors);
  if (length > most_message_bytes) {
    throw ProtocolError("a message of " + std::to_string(length) + " bytes was announced; at most " +
                        std::to_string(most_message_bytes) + " are taken");
  }
  std::vector<std::uint8_t> bytes(length);
  receive_exactly(std::as_writable_bytes(std::span(bytes)), descriptors);
  try {
    Json message = Json::from_msgpack(bytes);
    if (!message.is_object()) throw ProtocolError("a message must be a map");
    return message;
  } catch (const Json::exception& error) {
    throw ProtocolError(std::string("a message is not msgpack: ") + error.what());
  }
}

}  // namespace gpushare::client
