// SPDX-License-Identifier: Apache-2.0
#include "core/transform/ptx/written_variables.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "core/transform/ptx/instructions.hpp"

namespace gpushare::ptx {
namespace {

/// A limit to the passes over the code: compilers write values before they are used, except in loops.
constexpr int most_passes = 4;

constexpr std::array reads{"ld", "ldu", "prefetch", "prefetchu", "setp", "set", "isspacep"};
constexpr std::array computes{"mov", "cvta", "add", "sub", "mul",  "mad", "shl", "shr",
                              "or",  "and",  "xor", "cvt", "selp", "min", "max"};

template <std::size_t size>
bool is_one_of(std::string_view word, const std::array<const char*, size>& words) {
  return std::ranges::find(words, word) != words.end();
}

/// Follows addresses through the registers of one function.
class AddressFlow {
 public:
  AddressFlow(const Module& module, const std::unordered_set<std::string_view>& variables,
              std::unordered_set<std::string_view>& written)
      : module_(module), variables_(variables), written_(written) {}

  void follow(const Function& function) {
    for (int pass = 0; pass < most_passes; ++pass) {
      changed_ = false;
      for_each_instruction(function, [this](const Instruction& instruction) { follow(instruction); });
      if (!changed_) return;
    }
    for (const auto& [name, variable] : holds_) written_.insert(variable);
  }

 private:
  void follow(const Instruction& instruction) {
    const std::string_view operation = instruction.operation();
    if (is_one_of(operation, reads)) return;
    const bool computes_one = is_one_of(operation, computes) && !instruction.operands.empty();
    for (std::size_t index = computes_one ? 1 : 0; index < instruction.operands.size(); ++index) {
      for_each_address(instruction.operands[index], [&](std::string_view variable) {
        if (computes_one) {
          give(instruction.operands[0], variable);
        } else {
          written_.insert(variable);
        }
      });
    }
  }

  template <typename Visit>
  void for_each_address(TokenRange operand, Visit visit) {
    for (std::size_t token = operand.begin; token < operand.end; ++token) {
      const std::string_view word = module_.token(token).text;
      if (variables_.contains(word)) visit(word);
      if (const auto found = holds_.find(word); found != holds_.end()) visit(std::string_view(found->second));
    }
  }

  /// A register that holds different addresses at different places is not analysed.
  void give(TokenRange destination, std::string_view variable) {
    for (std::size_t token = destination.begin; token < destination.end; ++token) {
      if (module_.token(token).kind != TokenKind::Word) continue;
      const auto [place, is_new] = holds_.emplace(module_.token(token).text, variable);
      changed_ |= is_new;
      if (place->second == variable) continue;
      written_.insert(variable);
      written_.insert(place->second);
    }
  }

  const Module& module_;
  const std::unordered_set<std::string_view>& variables_;
  std::unordered_set<std::string_view>& written_;
  std::unordered_map<std::string_view, std::string_view> holds_;
  bool changed_ = false;
};

/// Adds the variables that code mentions which is not understood: it may write them.
void add_mentioned(const Module& module, const Function& function,
                   const std::unordered_set<std::string_view>& variables,
                   std::unordered_set<std::string_view>& written) {
  for (std::size_t token = function.body.begin; token < function.body.end; ++token) {
    const auto found = variables.find(module.token(token).text);
    if (found != variables.end()) written.insert(*found);
  }
}

}  // namespace

std::unordered_set<std::string_view> written_variables(const Module& module,
                                                       const std::unordered_set<std::string_view>& variables) {
  std::unordered_set<std::string_view> written;
  for (const Function& function : module.functions) {
    if (!function.has_body) continue;
    if (function.not_understood.empty()) {
      AddressFlow(module, variables, written).follow(function);
    } else {
      add_mentioned(module, function, variables, written);
    }
  }
  return written;
}

}  // namespace gpushare::ptx
