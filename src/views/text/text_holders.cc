// Holders of a block, as text.
#include <fmt/format.h>

#include "analysis/findings/amount_text.h"
#include "analysis/findings/block_text.h"
#include "common/base/units.h"
#include "views/text/text_parts.h"

namespace heaptap::text {
namespace {

std::string pointer_text(const std::string& kind) {
  return kind.empty() || kind == "start" ? "" : " (" + kind + " pointer)";
}

std::string state_text(const report::NamedBlock& block) {
  std::string text = block.state == "reachable"  ? "reachable"
                     : block.state == "possible" ? "possibly lost"
                     : block.state == "indirect" ? "indirectly lost"
                     : block.state == "unknown"  ? "lost or released unseen"
                                                 : "definitely lost";
  return block.suppressed ? text + ", suppressed" : text;
}

// One line for each step of the path, the block itself last.
std::string chain_text(const TextContext& context, const report::HolderChain& chain, const report::NamedBlock& block) {
  std::string text;
  if (chain.root)
    text +=
        "  " + context.ink.bold(findings::root_text(context.text, *chain.root)) + pointer_text(chain.pointer) + "\n";
  const char* arrow = chain.root ? "  -> " : "     ";
  for (size_t i = 0; i < chain.steps.size(); ++i) {
    const report::HolderStep& step = chain.steps[i];
    text += fmt::format("{}{}, at +{}{}\n", arrow, findings::block_text(context.text, step.block), step.offset,
                        pointer_text(step.pointer));
    arrow = "  -> ";
    if (chain.left_out != 0 && i + 1 == chain.steps.size() / 2) {
      text += context.ink.dim(fmt::format("     ... {} more ...", findings::counted(chain.left_out, "step"))) + "\n";
    }
  }
  return text + arrow + context.ink.bold(findings::block_text(context.text, block)) + "\n";
}

std::string loss_text(const TextContext& context, const report::Holders& holders) {
  std::string text;
  if (holders.block.state == "reachable")
    return "\nThe dynamic loader allocated it for itself: it counts as reachable.\n";
  if (holders.below) {
    text += "\nIt is not reachable from a root, but indirectly lost, held by this lost block:\n" +
            chain_text(context, *holders.below, holders.block);
  } else {
    text += fmt::format("\n{}\n",
                        holders.cycle ? findings::cycle_text(*holders.cycle, holders.block) : "Nothing points to it.");
  }
  if (holders.earlier) {
    text += holders.is_earlier_exit_start ? "\nUntil destructors and exit handlers ran it was reachable:\n"
                                          : fmt::format("\nIn scan {} it was still reachable:\n", holders.earlier_scan);
    text += chain_text(context, *holders.earlier, holders.block);
  }
  return text;
}

}  // namespace

std::string text_holders(const TextContext& context) {
  if (!context.report.holders) return title_of(context);
  const report::Holders& holders = *context.report.holders;
  const report::NamedBlock& block = holders.block;
  std::string text = title_of(context) + "\n";
  text += fmt::format("What points to {}?\n", holders.asked);
  if (holders.of_stack.blocks != 0) {
    text += holders.of_kind.blocks == holders.of_stack.blocks
                ? fmt::format("The stack's largest block, of {}:\n", findings::amount(holders.of_stack))
                : fmt::format("The largest of its blocks that are {}, {} of {}:\n", state_text(block),
                              findings::amount(holders.of_kind), findings::amount(holders.of_stack));
  }
  text += "  " + findings::block_text(context.text, block) + fmt::format("\n  at {:#x}", block.address);
  if (holders.offset != 0)
    text += fmt::format(" (the address is {} into it)", findings::counted(holders.offset, "byte"));
  text += ", " + state_text(block) + "\n";
  if (holders.held) {
    text += "\nShortest path to it:\n" + chain_text(context, *holders.held, block);
  } else {
    text += loss_text(context, holders);
  }
  if (holders.possible) {
    text += fmt::format("\nThe stack's possibly lost blocks are {}; shortest path to the largest:\n",
                        findings::amount(holders.possible->count)) +
            chain_text(context, holders.possible->held, holders.possible->block);
  }
  if (holders.of_stack.blocks > 1 && holders.held) {
    text += fmt::format("\nThe same root leads to {} of this stack.\n", findings::amount(holders.same_root));
  }
  return text + remarks_of(context);
}

}  // namespace heaptap::text
