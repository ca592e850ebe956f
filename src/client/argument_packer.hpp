// SPDX-License-Identifier: Apache-2.0
// Packs the arguments of launches of one kernel with one block, checked against its parameters. The same in Python:
// python/gpushare/kernels/argument_packing.py.
#pragma once

#include "client/link.hpp"

namespace gpushare::client {

/// As the ring takes them.
struct PackedArguments {
  std::vector<std::byte> bytes;
  std::vector<daemon::wire::ArrayReference> arrays;
};

class ArgumentPacker {
 public:
  /// `answer`: the worker's answer about the kernel with the block. It has no parameters on a simulated device, where
  /// nothing is checked. Throws ProtocolError.
  ArgumentPacker(std::string kernel, const Json& answer);

  /// The worker's handle of the kernel with the block.
  Handle kernel() const { return handle_; }
  /// Throws InvalidInput for an argument that does not fit; memory must be of this link.
  void pack(std::span<const Argument> arguments, const Link& link, PackedArguments& packed) const;

 private:
  enum class Kind { Pointer, Integer, Float, Struct };
  struct Parameter {
    Kind kind{};
    std::size_t offset = 0;
    std::size_t bytes = 0;
    bool may_be_pointer = false;  ///< an integer of 8 bytes without further information
    bool is_signed = true;        ///< both: PTX does not say
    bool is_unsigned = true;
    bool is_bool = false;
    std::string shown;  ///< type and name
  };

  static Parameter parameter_of(const Json& told);
  void require_count(std::size_t arguments) const;
  void pack_memory(const Argument& argument, std::size_t place, std::size_t offset, const Link& link,
                   PackedArguments& packed) const;
  void pack_value(const Argument& argument, std::size_t place, std::byte* to) const;
  void pack_integer(const Argument& argument, std::size_t place, std::byte* to) const;
  void pack_float(const Argument& argument, std::size_t place, std::byte* to) const;
  [[noreturn]] void refuse(std::size_t place, const std::string& reason) const;

  const std::string kernel_;
  Handle handle_ = 0;
  std::optional<std::vector<Parameter>> parameters_;
  std::size_t argument_bytes_ = 0;
};

}  // namespace gpushare::client
