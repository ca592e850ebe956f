// SPDX-License-Identifier: Apache-2.0
// Messages over the server's socket: four bytes of length, little-endian, a map in msgpack, and descriptors. The same
// in Python: python/gpushare/daemon/protocol/wire.py.
#pragma once

#include <chrono>
#include <filesystem>
#include <mutex>
#include <span>
#include <vector>

#include "client/errors.hpp"
#include "daemon/channel/file_descriptor.hpp"
#include "daemon/channel/fork_guard.hpp"

namespace gpushare::client {

using daemon::FileDescriptor;

/// The other side has closed the connection, or did not answer in time.
struct NoAnswer : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Where the server is, and whether any user may have started it.
struct ServerPlace {
  std::filesystem::path path;
  bool is_named = false;  ///< else the server must belong to this user or to root
};

/// The named one; else that of GPUSHARE_SOCKET, else this user's.
ServerPlace server_place(const std::string& named);
/// Throws DaemonGoneError, RefusedError, or InvalidInput for a path that no socket can have.
FileDescriptor connected(const ServerPlace& place);
/// Whether a server accepts connections there. One that is ending may do so for a moment longer.
bool answers(const ServerPlace& place);

/// Any thread may send, and one receives.
class MessageSocket {
 public:
  explicit MessageSocket(FileDescriptor socket);

  /// Throws ProtocolError for a message that is too large, TimeoutError if the server does not read, and
  /// std::system_error.
  void send(const Json& message, int descriptor = -1);
  /// Adds the message's descriptors to these. Throws NoAnswer, ProtocolError, and std::system_error.
  Json receive(std::vector<FileDescriptor>& descriptors);
  /// The longest wait of receive(); 0: for ever.
  void set_patience(std::chrono::nanoseconds patience);
  /// Ends the connection; a thread that receives is woken.
  void shut_down() noexcept;
  /// A forked child has another file in the socket's place.
  bool is_in_child() const { return fork_guard_.is_in_child(); }

 private:
  void receive_exactly(std::span<std::byte> bytes, std::vector<FileDescriptor>& descriptors);

  FileDescriptor socket_;
  daemon::ForkGuard fork_guard_;
  std::mutex sending_;
};

}  // namespace gpushare::client
