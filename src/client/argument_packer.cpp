// SPDX-License-Identifier: Apache-2.0
#include "client/argument_packer.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "client/allocation.hpp"

namespace gpushare::client {
namespace {

constexpr std::array signed_types{"char", "signed char", "short", "int", "long", "long long", "wchar_t"};
constexpr std::array unsigned_types{"char8_t", "char16_t", "char32_t"};

bool is_one_of(const std::string& type, const auto& types) { return std::ranges::find(types, type) != types.end(); }

}  // namespace

ArgumentPacker::Parameter ArgumentPacker::parameter_of(const Json& told) {
  const auto kind = told.at("kind").get<std::string>();
  const auto type = told.at("type").get<std::string>();
  const Json name = told.value("name", Json());
  return {.kind = kind == "pointer"   ? Kind::Pointer
                  : kind == "integer" ? Kind::Integer
                  : kind == "float"   ? Kind::Float
                                      : Kind::Struct,
          .offset = told.at("offset").get<std::size_t>(),
          .bytes = told.at("size").get<std::size_t>(),
          .may_be_pointer = type == ".u64",
          .is_signed = !type.starts_with("unsigned") && !is_one_of(type, unsigned_types),
          .is_unsigned = !is_one_of(type, signed_types),
          .is_bool = type == "bool",
          .shown = name.is_string() ? type + " " + name.get<std::string>() : type};
}

ArgumentPacker::ArgumentPacker(std::string kernel, const Json& answer) : kernel_(std::move(kernel)) {
  try {
    handle_ = answer.at("kernel").get<Handle>();
    if (answer.at("parameters").is_null()) return;
    parameters_.emplace();
    for (const Json& told : answer.at("parameters")) {
      const Parameter& added = parameters_->emplace_back(parameter_of(told));
      const bool is_number = added.kind != Kind::Struct;
      if (added.bytes > daemon::wire::most_argument_bytes || added.offset > daemon::wire::most_argument_bytes ||
          (is_number && added.bytes > sizeof(std::uint64_t)) || (added.kind == Kind::Pointer && added.bytes != 8)) {
        throw ProtocolError("kernel '" + kernel_ + "': the server says that parameter " + added.shown + " has " +
                            std::to_string(added.bytes) + " bytes");
      }
      argument_bytes_ = std::max(argument_bytes_, added.offset + added.bytes);
    }
  } catch (const Json::exception& error) {
    throw ProtocolError("kernel '" + kernel_ + "': the server's description is not valid: " + error.what());
  }
}

void ArgumentPacker::refuse(std::size_t place, const std::string& reason) const {
  const std::string shown = parameters_ ? " (" + (*parameters_)[place].shown + ")" : "";
  throw InvalidInput("kernel '" + kernel_ + "', argument " + std::to_string(place + 1) + shown + ": " + reason);
}

void ArgumentPacker::require_count(std::size_t arguments) const {
  if (!parameters_) {
    if (arguments <= daemon::wire::most_references) return;
    throw InvalidInput("kernel '" + kernel_ + "': " + std::to_string(arguments) + " arguments are too many");
  }
  if (arguments == parameters_->size()) return;
  std::string types;
  for (const Parameter& each : *parameters_) types += (types.empty() ? "" : ", ") + each.shown;
  throw InvalidInput("kernel '" + kernel_ + "' takes " + std::to_string(parameters_->size()) + " arguments (" + types +
                     "), got " + std::to_string(arguments));
}

void ArgumentPacker::pack(std::span<const Argument> arguments, const Link& link, PackedArguments& packed) const {
  require_count(arguments.size());
  packed.bytes.assign(parameters_ ? argument_bytes_ : 8 * arguments.size(), std::byte{});
  packed.arrays.clear();
  for (std::size_t place = 0; place < arguments.size(); ++place) {
    const Argument& argument = arguments[place];
    const std::size_t offset = parameters_ ? (*parameters_)[place].offset : 8 * place;
    if (argument.kind_ == Argument::Kind::Memory) {
      pack_memory(argument, place, offset, link, packed);
    } else if (parameters_) {
      pack_value(argument, place, packed.bytes.data() + offset);
    }
  }
}

/// The worker puts the address in.
void ArgumentPacker::pack_memory(const Argument& argument, std::size_t place, std::size_t offset, const Link& link,
                                 PackedArguments& packed) const {
  const auto* memory = static_cast<const Allocation*>(argument.address_);
  if (memory == nullptr) refuse(place, "this memory has been moved to another object");
  if (memory->link().get() != &link) refuse(place, "this memory belongs to another session");
  if (parameters_) {
    const Parameter& parameter = (*parameters_)[place];
    if (parameter.kind != Kind::Pointer && !parameter.may_be_pointer) refuse(place, "expected a value, got memory");
  }
  if (argument.bits_ > memory->bytes()) {
    refuse(place, "byte " + std::to_string(argument.bits_) + " of memory that has " + std::to_string(memory->bytes()));
  }
  try {
    packed.arrays.push_back({.array = memory->handle(),
                             .offset = argument.bits_,
                             .position = static_cast<std::uint32_t>(offset),
                             .zero = 0});
  } catch (const InvalidInput& error) {
    refuse(place, error.what());
  }
}

void ArgumentPacker::pack_value(const Argument& argument, std::size_t place, std::byte* to) const {
  const Parameter& parameter = (*parameters_)[place];
  if (argument.kind_ == Argument::Kind::Bytes) {
    if (parameter.kind == Kind::Pointer) refuse(place, "expected memory of the session, got bytes");
    if (argument.bits_ != parameter.bytes) {
      refuse(place, "expected " + std::to_string(parameter.bytes) + " bytes, got " + std::to_string(argument.bits_));
    }
    std::memcpy(to, argument.address_, parameter.bytes);
    return;
  }
  switch (parameter.kind) {
    case Kind::Pointer:
      if (argument.kind_ != Argument::Kind::Null) refuse(place, "expected memory of the session, got a number");
      return;
    case Kind::Integer:
      return pack_integer(argument, place, to);
    case Kind::Float:
      return pack_float(argument, place, to);
    case Kind::Struct:
      refuse(place, "expected a structure of " + std::to_string(parameter.bytes) + " bytes: Argument::bytes_of");
  }
}

void ArgumentPacker::pack_integer(const Argument& argument, std::size_t place, std::byte* to) const {
  const Parameter& parameter = (*parameters_)[place];
  const bool is_negative = argument.kind_ == Argument::Kind::Signed && static_cast<std::int64_t>(argument.bits_) < 0;
  if (argument.kind_ == Argument::Kind::Null && parameter.may_be_pointer) return;
  if (argument.kind_ != Argument::Kind::Signed && argument.kind_ != Argument::Kind::Unsigned) {
    refuse(place, "expected a whole number");
  }
  const auto bits = static_cast<unsigned>(8 * parameter.bytes);
  const std::uint64_t most_unsigned = std::numeric_limits<std::uint64_t>::max() >> (64 - bits);
  const std::uint64_t most = parameter.is_bool ? 1 : parameter.is_unsigned ? most_unsigned : most_unsigned >> 1;
  const std::int64_t least =
      parameter.is_signed && !parameter.is_bool ? -static_cast<std::int64_t>(most_unsigned >> 1) - 1 : 0;
  const bool fits = is_negative ? static_cast<std::int64_t>(argument.bits_) >= least : argument.bits_ <= most;
  if (!fits) {
    const std::string value =
        is_negative ? std::to_string(static_cast<std::int64_t>(argument.bits_)) : std::to_string(argument.bits_);
    refuse(place, value + " does not lie in " + std::to_string(least) + ".." + std::to_string(most));
  }
  std::memcpy(to, &argument.bits_, parameter.bytes);  // little-endian: the lower bytes
}

void ArgumentPacker::pack_float(const Argument& argument, std::size_t place, std::byte* to) const {
  const Parameter& parameter = (*parameters_)[place];
  double value = argument.number_;
  if (argument.kind_ == Argument::Kind::Signed) {
    value = static_cast<double>(static_cast<std::int64_t>(argument.bits_));
  } else if (argument.kind_ == Argument::Kind::Unsigned) {
    value = static_cast<double>(argument.bits_);
  } else if (argument.kind_ != Argument::Kind::Float) {
    refuse(place, "expected a number");
  }
  const auto narrow = static_cast<float>(value);
  if (parameter.bytes == sizeof(double)) {
    std::memcpy(to, &value, sizeof(value));
  } else if (parameter.bytes != sizeof(float)) {
    refuse(place, "expected " + std::to_string(parameter.bytes) + " bytes: Argument::bytes_of");
  } else if (std::isinf(narrow) && !std::isinf(value)) {
    refuse(place, std::to_string(value) + " is too large");
  } else {
    std::memcpy(to, &narrow, sizeof(narrow));
  }
}

}  // namespace gpushare::client
