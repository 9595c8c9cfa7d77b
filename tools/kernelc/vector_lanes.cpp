// Insertions, extractions and shuffles by constants.
#include "tools/kernelc/vector_lanes.hpp"

#include <set>

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Instructions.h>

namespace heddle::kernelc {

Lane origin_of(Lane at) {
  for (;;) {
    if (const auto* insert = llvm::dyn_cast<llvm::InsertElementInst>(at.value); insert && at.number >= 0) {
      const auto* place = llvm::dyn_cast<llvm::ConstantInt>(insert->getOperand(2));
      if (!place) return at;
      const bool here = place->getValue() == static_cast<unsigned>(at.number);
      at = here ? Lane{insert->getOperand(1), -1} : Lane{insert->getOperand(0), at.number};
    } else if (const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(at.value); shuffle && at.number >= 0) {
      const int from = shuffle->getMaskValue(static_cast<unsigned>(at.number));
      const auto* type = llvm::cast<llvm::FixedVectorType>(shuffle->getOperand(0)->getType());
      const int width = static_cast<int>(type->getNumElements());
      if (from < 0) return {llvm::UndefValue::get(type->getElementType()), -1};
      at = from < width ? Lane{shuffle->getOperand(0), from} : Lane{shuffle->getOperand(1), from - width};
    } else if (const auto* extract = llvm::dyn_cast<llvm::ExtractElementInst>(at.value); extract && at.number < 0) {
      const auto* place = llvm::dyn_cast<llvm::ConstantInt>(extract->getIndexOperand());
      if (!place || place->getValue().uge(1 << 16)) return at;
      at = {extract->getVectorOperand(), static_cast<int>(place->getZExtValue())};
    } else {
      return at;
    }
  }
}

LaneContent content_of(const Lane& lane) {
  bool set = false, undefined = false;
  std::set<std::pair<const llvm::Value*, int>> seen;
  std::vector<Lane> waiting;
  auto push = [&](const llvm::Value* value, int number) {
    const Lane next = origin_of({value, number});
    if (seen.emplace(next.value, next.number).second) waiting.push_back(next);
  };
  push(lane.value, lane.number);
  while (!waiting.empty()) {
    const Lane next = waiting.back();
    waiting.pop_back();
    const auto* constant = llvm::dyn_cast<llvm::Constant>(next.value);
    const llvm::Value* element =
        constant && next.number >= 0 ? constant->getAggregateElement(static_cast<unsigned>(next.number)) : next.value;
    if (element && llvm::isa<llvm::UndefValue>(element)) {
      undefined = true;
    } else if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(next.value)) {
      for (const llvm::Value* value : phi->incoming_values()) push(value, next.number);
    } else if (const auto* chosen = llvm::dyn_cast<llvm::SelectInst>(next.value)) {
      push(chosen->getTrueValue(), next.number), push(chosen->getFalseValue(), next.number);
    } else {
      set = true;
    }
  }
  return set && undefined ? LaneContent::either : undefined ? LaneContent::undefined : LaneContent::set;
}

}  // namespace heddle::kernelc
