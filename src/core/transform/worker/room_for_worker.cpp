// SPDX-License-Identifier: Apache-2.0
#include "core/transform/worker/room_for_worker.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "core/transform/flow/data_flow.hpp"

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

/// .shared .align 16 .v4 .b8 name[32][4], other;   The size of .extern variables is given at the launch.
std::vector<Variable> shared_variables(const Module& module, std::size_t token) {
  std::vector<Variable> found;
  const std::string_view directive = module.token(token).text;
  const bool is_shared = directive == ".shared" || directive.starts_with(".shared.");
  if (!is_shared || (token > 0 && module.token(token - 1).is(".extern"))) return found;
  const auto number_at = [&](std::size_t place) -> std::size_t {
    const auto number = place < module.tokens.size() ? parsed_number(module, {place, place + 1}) : std::nullopt;
    return number && *number > 0 ? static_cast<std::size_t>(*number) : 0;
  };
  Variable kind;
  std::size_t lanes = 1;
  const auto take_words = [&](std::string_view words) {  // ".align" or ".v4", or ".b8"
    for (std::size_t dot = words.find('.'); dot != std::string_view::npos; dot = words.find('.', dot + 1)) {
      const std::string_view word = words.substr(dot, words.find('.', dot + 1) - dot);
      if (word == ".v2" || word == ".v4") lanes = word == ".v2" ? 2 : 4;
      if (word != ".align" && word != ".shared" && word != ".v2" && word != ".v4") kind.bytes = bytes_of_type(word);
    }
  };
  take_words(directive);
  bool is_aligned = directive.ends_with(".align");
  for (++token; token < module.tokens.size() && !module.token(token).is(";"); ++token) {
    const Token& word = module.token(token);
    if (word.text.starts_with('.')) {
      take_words(word.text);
      is_aligned = word.text.ends_with(".align");
    } else if (is_aligned) {
      kind.alignment = number_at(token);
      is_aligned = false;
    } else if (word.is("[") && !found.empty()) {
      found.back().bytes *= number_at(++token);
    } else if (word.kind == TokenKind::Word) {
      const std::size_t bytes = kind.bytes * lanes;
      found.push_back({word.text, bytes, std::max(kind.alignment, bytes)});
    }
  }
  return found;
}

}  // namespace

std::size_t static_shared_bytes(const Module& module, const Function& entry,
                                const std::vector<const Function*>& called) {
  std::unordered_set<std::string_view> named;
  std::vector<const Function*> functions{&entry};
  functions.insert(functions.end(), called.begin(), called.end());
  std::size_t total = 0;
  const auto add = [&](std::size_t token, bool always) {
    for (const Variable& variable : shared_variables(module, token)) {
      if (always || named.contains(variable.name)) {
        total = rounded_up(total, variable.alignment) + variable.bytes;
      }
    }
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
