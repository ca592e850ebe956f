// SPDX-License-Identifier: Apache-2.0
#include "core/transform/room_for_worker.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "core/transform/data_flow.hpp"

namespace gpushare::ptx {
namespace {

std::size_t rounded_up(std::size_t value, std::size_t alignment) {
  return alignment == 0 ? value : (value + alignment - 1) / alignment * alignment;
}

struct Variable {
  std::string_view name;
  std::size_t bytes = 0;
  std::size_t alignment = 1;
};

/// .shared .align 16 .b8 name[32][4];   Nothing of .extern ones, whose size the launch says.
std::optional<Variable> shared_variable(const Module& module, std::size_t token) {
  if (!module.token(token).is(".shared") || (token > 0 && module.token(token - 1).is(".extern"))) return std::nullopt;
  const auto number_at = [&](std::size_t place) -> std::size_t {
    const auto number = parsed_number(module, {place, place + 1});
    return number && *number > 0 ? static_cast<std::size_t>(*number) : 0;
  };
  Variable variable;
  for (++token; token < module.tokens.size() && !module.token(token).is(";"); ++token) {
    const Token& word = module.token(token);
    if (word.is(".align") && token + 1 < module.tokens.size()) {
      variable.alignment = number_at(++token);
    } else if (word.is("[") && token + 1 < module.tokens.size()) {
      variable.bytes *= number_at(++token);
    } else if (word.kind == TokenKind::Word && word.text.starts_with('.')) {
      variable.bytes = bytes_of_type(word.text);
      variable.alignment = std::max(variable.alignment, variable.bytes);
    } else if (word.kind == TokenKind::Word && variable.name.empty()) {
      variable.name = word.text;
    }
  }
  return variable;
}

}  // namespace

std::size_t static_shared_bytes(const Module& module, const Function& entry,
                                const std::vector<const Function*>& called) {
  std::unordered_set<std::string_view> named;
  std::vector<const Function*> functions{&entry};
  functions.insert(functions.end(), called.begin(), called.end());
  std::size_t total = 0;
  const auto add = [&](std::size_t token, bool always) {
    const auto variable = shared_variable(module, token);
    if (!variable || (!always && !named.contains(variable->name))) return;
    total = rounded_up(total, variable->alignment) + variable->bytes;
  };
  for (const Function* function : functions) {
    for (std::size_t token = function->body.begin; token < function->body.end; ++token) {
      named.insert(module.token(token).text);
      add(token, true);
    }
  }
  std::size_t outside = 0;
  const auto look_outside = [&](std::size_t end) {
    for (; outside < end; ++outside) add(outside, false);
  };
  for (const Function& function : module.functions) {
    look_outside(function.tokens.begin);
    outside = function.tokens.end;
  }
  look_outside(module.tokens.size());
  return total;
}

bool has_room_for_parameter(const Module& module, const Function& entry, std::size_t bytes) {
  double version = 0;
  std::from_chars(module.version.data(), module.version.data() + module.version.size(), version);
  const std::size_t most = version >= 8.1 ? 32'764 : 4'352;
  std::size_t total = 0;
  for (const Parameter& parameter : entry.parameters) {
    total = rounded_up(total, parameter.alignment) + parameter.bytes;
  }
  return rounded_up(total, 8) + bytes <= most;
}

}  // namespace gpushare::ptx
