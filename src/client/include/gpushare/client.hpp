// SPDX-License-Identifier: Apache-2.0
// A client of gpushare's server (`gpushare serve`) in C++20: memory of the server's GPU, copies, and launches of
// kernels given as CUDA C++, PTX or machine code. The process that uses it needs neither CUDA nor Python.
//
// Any thread may call any method of any object, also at the same time; an object that is moved, assigned or destroyed
// must not be in use. Objects keep their connection open, which closes with the last of them.
//
// The applications of a process run side by side, each of them one launch after the other. Copies are ordered among
// themselves, but not with launches: wait for a copy before the launch that reads it, and for the job before the copy
// of its results.
//
// Only the Python client repeats lost work by itself, sets variables of kernels, shares memory with other libraries,
// and brings models for simulated devices.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace gpushare {
namespace [[gnu::visibility("default")]] client {

/// The base of all errors. Their names and meanings are those of the Python package.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An argument cannot be; the message names it.
class InvalidInput : public Error {
 public:
  using Error::Error;
};

/// A source does not compile; the message ends with the compiler's log.
class CompileError : public InvalidInput {
 public:
  using InvalidInput::InvalidInput;
};

/// The server's configuration does not allow this.
class RefusedError : public Error {
 public:
  using Error::Error;
};

/// The application of this job was cancelled.
class Cancelled : public Error {
 public:
  using Error::Error;
};

/// The server's policy failed, or cannot serve the application.
class PolicyError : public Error {
 public:
  using Error::Error;
};

/// Memory did not become free in time, or the server does not take messages or launches.
class TimeoutError : public Error {
 public:
  using Error::Error;
};

/// The device failed, and this job was on it.
class DeviceError : public Error {
 public:
  using Error::Error;
};

/// A device error with the driver's name for it.
class CudaError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// The server cannot be reached, or has ended.
class DaemonGoneError : public Error {
 public:
  using Error::Error;
};

/// The process that held the GPU has ended, and another one is being started. The session and all that was made by it
/// are lost: open another session, and submit again. A session that is opened while the process ends is lost, too.
class WorkerLostError : public DaemonGoneError {
 public:
  using DaemonGoneError::DaemonGoneError;
};

/// The server cannot open its device.
class DeviceLostError : public DaemonGoneError {
 public:
  using DaemonGoneError::DaemonGoneError;
};

/// The other side is no server of gpushare, or has another version.
class ProtocolError : public Error {
 public:
  using Error::Error;
};

/// Up to three extents, x first: `256`, or `{16, 16}`.
struct Extent {
  constexpr Extent(std::uint32_t x = 1, std::uint32_t y = 1, std::uint32_t z = 1) : values{x, y, z} {}
  std::array<std::uint32_t, 3> values;
};

/// The shape of a launch.
struct Geometry {
  Extent grid{};                 ///< in blocks
  Extent block{};                ///< in threads
  std::size_t shared_bytes = 0;  ///< dynamic shared memory of a block
};

/// What a session may be given.
struct Options {
  std::string socket{};  ///< empty: GPUSHARE_SOCKET, else the socket of this user's server, which must be its or root's
  std::string device{};  ///< one of the server's devices; empty: its first
  std::string name{};    ///< shown by `gpushare status`; empty: the program's name
  std::chrono::nanoseconds patience = std::chrono::minutes(1);         ///< for a worker that has to start first
  std::chrono::nanoseconds memory_patience = std::chrono::minutes(1);  ///< for memory in use; at most ten minutes
};

/// What a policy knows of an application.
struct Terms {
  int priority = 0;                                    ///< larger is more urgent, for policies with priorities
  double weight = 1;                                   ///< of its share, under `fair`, `mix` and `auto`
  std::optional<std::chrono::nanoseconds> deadline{};  ///< its end, after its first launch
  std::optional<double> min_speed{};                   ///< beside others, as a fraction of that alone
  std::optional<std::chrono::nanoseconds> latency{};   ///< the end of each launch, after its submission
};

/// How a kernel is compiled.
struct KernelOptions {
  std::vector<std::string> compiler{};    ///< options of NVRTC, with absolute paths: the server compiles
  bool preemptible = true;                ///< false, where each block waits for all others
  std::vector<std::string> parameters{};  ///< types, such as "float*", for machine code whose symbol lacks them
};

class Link;
class Allocation;
class PinnedBlock;
class RegisteredKernel;
class RegisteredApplication;
class SubmittedJob;
struct Reply;

/// Memory that the server maps, too. Copies from and to it need no copy in this process, and may be asynchronous.
/// Starts with zeros.
class PinnedMemory {
 public:
  PinnedMemory(PinnedMemory&&) noexcept;
  PinnedMemory& operator=(PinnedMemory&&) noexcept;
  ~PinnedMemory();

  std::span<std::byte> bytes() const;  ///< all of it
  /// The same as values of a type; a rest is left out.
  template <typename T>
  std::span<T> as() const {
    static_assert(std::is_trivially_copyable_v<T>);
    return {reinterpret_cast<T*>(bytes().data()), bytes().size() / sizeof(T)};
  }

 private:
  friend class Session;
  friend class Memory;
  explicit PinnedMemory(std::shared_ptr<PinnedBlock> block);
  std::shared_ptr<PinnedBlock> block_;
};

/// An asynchronous copy. It goes on if this object is destroyed.
class PendingCopy {
 public:
  PendingCopy(PendingCopy&&) noexcept;
  PendingCopy& operator=(PendingCopy&&) noexcept;
  ~PendingCopy();

  /// Waits for the end; throws the copy's error.
  void wait();
  /// False: it has not ended in this time.
  bool wait_for(std::chrono::nanoseconds timeout);

 private:
  friend class Memory;
  explicit PendingCopy(std::unique_ptr<Reply> reply);
  std::unique_ptr<Reply> reply_;
};

/// Memory of the GPU, zeroed. It is freed when this object is destroyed, and no job uses it any more.
class Memory {
 public:
  Memory(Memory&&) noexcept;
  Memory& operator=(Memory&&) noexcept;
  ~Memory();

  std::size_t size() const;  ///< in bytes
  /// Copies to the GPU, to this offset in bytes, and waits for the end.
  void write(const void* from, std::size_t bytes, std::size_t offset = 0);
  /// Copies from the GPU, from this offset in bytes, and waits for the end. Jobs that write it must have ended.
  void read(void* to, std::size_t bytes, std::size_t offset = 0) const;
  /// Begins a copy of bytes of pinned memory to the GPU. They must not change before it ends.
  PendingCopy begin_write(const PinnedMemory& from, std::size_t bytes, std::size_t from_offset = 0,
                          std::size_t offset = 0);
  /// Begins a copy from the GPU to pinned memory.
  PendingCopy begin_read(PinnedMemory& to, std::size_t bytes, std::size_t to_offset = 0, std::size_t offset = 0) const;
  /// Frees it now, for later calls.
  void free();

 private:
  friend class Session;
  friend class Argument;
  explicit Memory(std::unique_ptr<Allocation> allocation);
  std::unique_ptr<Allocation> allocation_;
};

/// An argument of a kernel: memory for a pointer, or a value. Numbers are converted to the parameter's type, where they
/// fit. It refers to what it was made of.
class Argument {
 public:
  /// The address of the first byte.
  Argument(const Memory& memory) : Argument(memory, 0) {}
  /// The address of a byte inside.
  Argument(const Memory& memory, std::size_t offset);
  /// A pointer to nothing.
  Argument(std::nullptr_t) : kind_(Kind::Null) {}
  /// A whole number or a truth value.
  template <std::integral Number>
  Argument(Number value)
      : kind_(std::is_signed_v<Number> ? Kind::Signed : Kind::Unsigned), bits_(static_cast<std::uint64_t>(value)) {}
  /// A floating-point number.
  template <std::floating_point Number>
  Argument(Number value) : kind_(Kind::Float), number_(static_cast<double>(value)) {}
  /// A structure, or any other type, whose bytes are those of the parameter.
  template <typename T>
  static Argument bytes_of(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return {&value, sizeof(T)};
  }
  /// Kernels cannot use memory of this process: allocate memory, and write to it.
  template <typename T>
  Argument(T*) = delete;

 private:
  friend class ArgumentPacker;
  enum class Kind { Memory, Null, Signed, Unsigned, Float, Bytes };
  Argument(const void* bytes, std::size_t size) : kind_(Kind::Bytes), address_(bytes), bits_(size) {}

  Kind kind_;
  const void* address_ = nullptr;
  std::uint64_t bits_ = 0;
  double number_ = 0;
};

/// A kernel. The server compiles it at its first launch; it unloads it when this object is destroyed and its launches
/// have ended.
class Kernel {
 public:
  Kernel(Kernel&&) noexcept;
  Kernel& operator=(Kernel&&) noexcept;
  ~Kernel();

  const std::string& name() const;  ///< as it was given
  /// Compiles it now, if it has not been compiled. Throws CompileError.
  void load();

 private:
  friend class Session;
  friend class Application;
  explicit Kernel(std::unique_ptr<RegisteredKernel> kernel);
  std::unique_ptr<RegisteredKernel> kernel_;
};

/// A launch. It goes on if this object is destroyed, and its error is lost then.
class Job {
 public:
  Job(Job&&) noexcept;
  Job& operator=(Job&&) noexcept;
  ~Job();

  /// Waits for the end. Throws InvalidInput, Cancelled, CudaError, DeviceError or WorkerLostError if it did not run to
  /// its end; the same every time.
  void wait();
  /// False: it has not ended in this time, and goes on.
  bool wait_for(std::chrono::nanoseconds timeout);
  /// Whether it has ended. Throws as `wait` does.
  bool done() { return wait_for(std::chrono::nanoseconds(0)); }

 private:
  friend class Application;
  explicit Job(std::unique_ptr<SubmittedJob> job);
  std::unique_ptr<SubmittedJob> job_;
};

/// A stream of launches, which the server schedules against others. It ends with the session, or when it is cancelled.
class Application {
 public:
  const std::string& name() const;  ///< without the number that the server appends
  /// Submits a launch and returns at once. The first one of a kernel with a block waits for its compilation. Throws
  /// CompileError, or InvalidInput for an argument that does not fit.
  Job launch(const Kernel& kernel, const Geometry& geometry, std::initializer_list<Argument> arguments) {
    return launch(kernel, geometry, std::span(arguments.begin(), arguments.size()));
  }
  Job launch(const Kernel& kernel, const Geometry& geometry, std::span<const Argument> arguments);
  /// Also while launches run. Throws RefusedError above the highest priority that the server permits.
  void set_priority(int priority);
  /// Queued jobs fail with Cancelled, and the running one stops at block boundary.
  void cancel();

 private:
  friend class Session;
  explicit Application(std::shared_ptr<RegisteredApplication> application);
  std::shared_ptr<RegisteredApplication> application_;
};

/// A connection to a server. A forked child cannot use its parent's: it gets InvalidInput, and has to open another one.
class Session {
 public:
  /// Throws DaemonGoneError where there is no server, ProtocolError for another version, RefusedError, DeviceLostError.
  explicit Session(const Options& options = {});

  /// The name of the server's device.
  const std::string& device() const;
  /// Opens an application; its name must be new in this session.
  Application application(std::string_view name, const Terms& terms = {});
  /// Waits for memory that others use, for Options::memory_patience. Throws TimeoutError.
  Memory allocate(std::size_t bytes);
  /// Allocates pinned memory of this process.
  PinnedMemory pin(std::size_t bytes);
  /// A kernel of CUDA C++ or PTX. The name may be an expression such as `saxpy<float>`.
  Kernel kernel(std::string_view source, std::string_view name, const KernelOptions& options = {});
  /// A kernel of machine code.
  Kernel cubin(std::span<const std::byte> code, std::string_view name, const KernelOptions& options = {});
  /// Waits for all launches submitted so far, whether they succeed or not.
  void synchronize();
  /// False: one has not ended in this time.
  bool synchronize_for(std::chrono::nanoseconds timeout);

 private:
  std::shared_ptr<Link> link_;
  std::chrono::nanoseconds memory_patience_;
};

}  // namespace client
}  // namespace gpushare
