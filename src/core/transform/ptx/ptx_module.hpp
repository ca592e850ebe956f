// SPDX-License-Identifier: Apache-2.0
// A PTX module as functions and statements. Every part remembers its tokens, and tokens their place in the text, so
// that a transformation can say "replace this" without printing the rest anew.
//
// The assembler checks whether a text is correct. Text that is not understood here is noted and left unchanged.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "core/transform/ptx/ptx_tokens.hpp"

namespace gpushare::ptx {

/// Indices into Module::tokens, the end not included.
struct TokenRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t size() const { return end - begin; }
};

struct Label {
  std::string_view name;
  TokenRange tokens;
};

struct Instruction {
  std::string_view predicate;  ///< register of the guard, empty without one
  bool negated = false;        ///< @!p
  std::string_view opcode;     ///< with all suffixes: "ld.global.f32"
  TokenRange tokens;           ///< from the guard to the semicolon
  std::vector<TokenRange> operands;

  /// The opcode up to its first dot: "ld".
  std::string_view operation() const { return opcode.substr(0, opcode.find('.')); }
  /// Does the opcode contain this suffix, as in has("shared") for ld.shared.u32?
  bool has(std::string_view suffix) const;
  /// Does the opcode name this state space, as in names_space("shared") for ld.shared.u32 and st.shared::cta.u32?
  bool names_space(std::string_view space) const;
};

/// A directive in a body: .reg, .shared, .local, .param, .pragma, .loc, branch targets and call prototypes.
struct Declaration {
  std::string_view directive;
  std::string_view label;  ///< of .branchtargets, .calltargets and .callprototype
  TokenRange tokens;
};

enum class Brace { Open, Close };
struct Block {
  Brace brace{};
  std::size_t token = 0;
};

using Statement = std::variant<Label, Instruction, Declaration, Block>;

struct Parameter {
  std::string_view name;
  std::string_view type;  ///< ".u64"; ".b8" for aggregates
  std::size_t alignment = 0;
  std::size_t bytes = 0;
  bool is_marked_pointer = false;  ///< .ptr
};

struct Function {
  bool is_entry = false;
  bool has_body = false;
  std::string_view name;
  TokenRange tokens;  ///< from .visible or the like to the closing brace, or to the semicolon of a declaration
  std::size_t name_token = 0;
  TokenRange parameter_list;  ///< with its parentheses; empty where there is none
  std::vector<Parameter> parameters;
  std::vector<TokenRange> directives;  ///< .maxntid and the like, between parameters and body
  TokenRange body;                     ///< with its braces
  std::vector<Statement> statements;
  std::string not_understood;  ///< the first text that was not understood, and its line
};

/// The size of a fundamental type, such as ".f32".
std::size_t bytes_of_type(std::string_view type);

struct Module {
  /// The text as given, except that blanks between a word and its suffix (`st .shared.u32`) are behind the suffix.
  std::string text;
  std::vector<Token> tokens;
  std::string_view version;    ///< "9.0"
  std::string_view target;     ///< "sm_90"
  std::size_t header_end = 0;  ///< the token behind .version, .target and .address_size
  std::vector<Function> functions;

  /// Throws InvalidInput where the text has no .version and .target.
  explicit Module(std::string ptx);
  Module(const Module&) = delete;  // tokens point into text
  Module& operator=(const Module&) = delete;

  const Token& token(std::size_t index) const { return tokens[index]; }
  /// The line, counted from 1, on which this token begins.
  std::size_t line(std::size_t index) const;
  /// The text from the first to the last token of the range, as written.
  std::string_view source(TokenRange range) const;
  /// The entry of this name; throws InvalidInput listing the entries there are.
  const Function& entry(std::string_view name) const;
  std::vector<std::string> entry_names() const;
  /// The entry or function of this name, or of which this is an alias, that has a body; nullptr without one.
  const Function* definition(std::string_view name) const;
  /// Is there any body but those of entries?
  bool has_functions() const { return has_functions_; }

 private:
  void read();
  void index_functions(const std::vector<std::pair<std::string_view, std::string_view>>& aliases);

  std::unordered_map<std::string_view, std::size_t> definitions_;
  bool has_functions_ = false;
  std::vector<std::size_t> line_ends_;
};

}  // namespace gpushare::ptx
