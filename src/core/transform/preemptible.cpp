// SPDX-License-Identifier: Apache-2.0
#include "core/transform/preemptible.hpp"

#include <algorithm>
#include <array>

#include "core/errors.hpp"
#include "core/transform/divergence.hpp"
#include "core/transform/text_edits.hpp"
#include "core/transform/worker_text.hpp"

namespace gpushare::ptx {
namespace {

/// Register or parameter -> what stands for it in a worker.
struct Component {
  std::string_view name;
  const char* in_entry;  // a register; "" where it is a field of the parameter
  int parameter_offset;  // of the field
  int slot_offset;       // in the memory that called functions read
};

constexpr std::array components{
    Component{"%ctaid.x", "%gpushare_x", 0, 0}, Component{"%ctaid.y", "%gpushare_y", 0, 4},
    Component{"%ctaid.z", "%gpushare_z", 0, 8}, Component{"%nctaid.x", "", 24, 12},
    Component{"%nctaid.y", "", 36, 16},         Component{"%nctaid.z", "", 48, 20},
};

class EntryRewriter {
 public:
  EntryRewriter(const Module& module, const Function& entry, const WorkerNeeds& needs, TextEdits& edits)
      : module_(module), entry_(entry), needs_(needs), edits_(edits) {}

  /// Edits at the same place keep their order, so what surrounds the body comes before what changes it.
  void rewrite() {
    add_parameter();
    const Token& closing = module_.token(entry_.body.end - 1);
    edits_.insert(module_.token(entry_.body.begin).end(), worker_text::declarations(needs_));
    edits_.insert(body_offset(), worker_text::before_body(needs_, block_index_use()));
    for (const Statement& statement : entry_.statements) {
      if (const auto* instruction = std::get_if<Instruction>(&statement)) rewrite(*instruction);
    }
    edits_.insert(closing.offset, worker_text::after_body(needs_, block_index_use(), barriers_));
  }

 private:
  /// Where the first statement behind the leading declarations begins.
  std::size_t body_offset() const {
    for (std::size_t index = 1; index < entry_.statements.size(); ++index) {
      const Statement& statement = entry_.statements[index];
      if (!std::holds_alternative<Declaration>(statement)) return module_.token(first_token(statement)).offset;
    }
    return module_.token(entry_.body.end - 1).offset;
  }

  worker_text::BlockIndexUse block_index_use() const {
    if (needs_.functions_read_block_index) return {true, true, true};
    worker_text::BlockIndexUse use;
    for (std::size_t token = entry_.body.begin; token < entry_.body.end; ++token) {
      use.x |= module_.token(token).is("%ctaid.x");
      use.y |= module_.token(token).is("%ctaid.y");
      use.z |= module_.token(token).is("%ctaid.z");
    }
    return use;
  }

  static std::size_t first_token(const Statement& statement) {
    if (const auto* block = std::get_if<Block>(&statement)) return block->token;
    if (const auto* label = std::get_if<Label>(&statement)) return label->tokens.begin;
    return std::get<Instruction>(statement).tokens.begin;
  }

  void add_parameter() {
    const std::string parameter = worker_text::parameter();
    if (entry_.parameter_list.size() == 0) {
      edits_.insert(module_.token(entry_.name_token).end(), "(\n\t" + parameter + "\n)");
      return;
    }
    const Token& closing = module_.token(entry_.parameter_list.end - 1);
    edits_.insert(closing.offset, (entry_.parameters.empty() ? "\n\t" : ",\n\t") + parameter + "\n");
  }

  void rewrite(const Instruction& instruction) {
    const std::string_view operation = instruction.operation();
    if (operation == "ret" || operation == "exit") {
      return replace(instruction, worker_text::instead_of_return(guard(instruction, false)));
    }
    if (needs_.single_barrier_site && is_block_barrier(instruction)) {
      ++barriers_;
      return replace(instruction,
                     worker_text::instead_of_barrier(barriers_, guard(instruction, false), guard(instruction, true)));
    }
    if (reads_block_index(module_, instruction)) rewrite_block_index(instruction);
  }

  /// Block index components become registers. Grid sizes are loaded from the parameter first.
  void rewrite_block_index(const Instruction& instruction) {
    for (std::size_t index = instruction.tokens.begin; index < instruction.tokens.end; ++index) {
      const Token& token = module_.token(index);
      const auto* component = std::ranges::find(components, token.text, &Component::name);
      if (component == components.end()) continue;
      std::string replacement = component->in_entry;
      if (replacement.empty()) {
        replacement = "%gpushare_i";
        edits_.insert(
            module_.token(instruction.tokens.begin).offset,
            "ld.param.u32 \t%gpushare_i, [gpushare_worker+" + std::to_string(component->parameter_offset) + "];\n\t");
      }
      edits_.replace(token.offset, token.text.size(), std::move(replacement));
    }
    narrow(instruction);
  }

  /// A 16-bit read of a special register takes its lower half; of an ordinary one it has to be a conversion.
  void narrow(const Instruction& instruction) {
    if (instruction.opcode != "mov.u16" && instruction.opcode != "mov.b16") return;
    const Token& opcode =
        *std::ranges::find(module_.tokens.begin() + static_cast<std::ptrdiff_t>(instruction.tokens.begin),
                           module_.tokens.end(), instruction.opcode, &Token::text);
    edits_.replace(opcode.offset, opcode.text.size(), "cvt.u16.u32");
  }

  void replace(const Instruction& instruction, std::string text) {
    const std::string_view source = module_.source(instruction.tokens);
    edits_.replace(module_.token(instruction.tokens.begin).offset, source.size(), std::move(text));
  }

  static std::string guard(const Instruction& instruction, bool inverse) {
    if (instruction.predicate.empty()) return "";
    return (instruction.negated != inverse ? "@!" : "@") + std::string(instruction.predicate) + " ";
  }

  const Module& module_;
  const Function& entry_;
  const WorkerNeeds& needs_;
  TextEdits& edits_;
  int barriers_ = 0;
};

/// In a called function, a read of the block index becomes a load from where the worker has put it.
void rewrite_callee(const Module& module, const Function& function, TextEdits& edits) {
  for (const Statement& statement : function.statements) {
    const auto* instruction = std::get_if<Instruction>(&statement);
    if (instruction == nullptr || !reads_block_index(module, *instruction)) continue;
    const Token& source = module.token(instruction->operands.at(1).begin);
    const auto* component = std::ranges::find(components, source.text, &Component::name);
    GPUSHARE_EXPECT(component != components.end(), "refused otherwise");
    const std::string prefix = instruction->predicate.empty()
                                   ? ""
                                   : (instruction->negated ? "@!" : "@") + std::string(instruction->predicate) + " ";
    edits.replace(module.token(instruction->tokens.begin).offset, module.source(instruction->tokens).size(),
                  prefix + "ld.shared.u32 \t" + std::string(module.source(instruction->operands[0])) +
                      ", [gpushare_block_index+" + std::to_string(component->slot_offset) + "];");
  }
}

bool reads_block_index(const Module& module, const Function& function) {
  return std::ranges::any_of(function.statements, [&](const Statement& statement) {
    const auto* instruction = std::get_if<Instruction>(&statement);
    return instruction != nullptr && reads_block_index(module, *instruction);
  });
}

/// Called functions that read the block index are changed for the workers' sake: a kernel that stays as it is must
/// not call one of them.
std::vector<KernelVerdict> find_verdicts(const Module& module, ClaimsIn claims) {
  std::vector<KernelVerdict> verdicts;
  bool any_refused = false;
  for (const Function& function : module.functions) {
    if (!function.is_entry || !function.has_body) continue;
    KernelVerdict verdict{std::string(function.name), WorkerNeeds{}};
    if (auto refusal = find_refusal(module, function)) {
      verdict.outcome = *std::move(refusal);
      any_refused = true;
    } else {
      WorkerNeeds needs = find_needs(module, function);
      needs.claims_in_memory = claims == ClaimsIn::Memory;
      verdict.outcome = needs;
    }
    verdicts.push_back(std::move(verdict));
  }
  if (!any_refused) return verdicts;
  for (KernelVerdict& verdict : verdicts) {
    const auto* needs = std::get_if<WorkerNeeds>(&verdict.outcome);
    if (needs != nullptr && needs->functions_read_block_index) {
      verdict.outcome =
          Refusal{"it shares functions that read the block index with a kernel of this module that was refused"};
    }
  }
  return verdicts;
}

}  // namespace

Transformed make_preemptible(const std::string& ptx, ClaimsIn claims) {
  const Module module(ptx);
  Transformed result{.kernels = find_verdicts(module, claims)};
  TextEdits edits;
  bool needs_slot = false;
  for (const KernelVerdict& verdict : result.kernels) {
    const auto* needs = std::get_if<WorkerNeeds>(&verdict.outcome);
    if (needs == nullptr) continue;
    EntryRewriter(module, module.entry(verdict.name), *needs, edits).rewrite();
    needs_slot |= needs->functions_read_block_index;
  }
  if (needs_slot) {
    const Token& size = *std::ranges::find(module.tokens, ".address_size", &Token::text);
    edits.insert(std::min(module.text.find('\n', size.offset) + 1, module.text.size()),
                 worker_text::block_index_slot());
    for (const Function& function : module.functions) {
      if (!function.is_entry && function.has_body && reads_block_index(module, function))
        rewrite_callee(module, function, edits);
    }
  }
  result.ptx = edits.apply(module.text);
  return result;
}

}  // namespace gpushare::ptx
