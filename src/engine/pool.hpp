// Several implementations of one kernel, and what was found out about them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/history.hpp"
#include "decide/select.hpp"
#include "engine/arguments.hpp"
#include "engine/kernel.hpp"

namespace heddle::engine {

struct VariantSource {
  std::string name;
  KernelSource source;
  core::Index group{1, 1, 1};  // work-items
  core::Footprint footprint;   // points that a group covers
  // Makes its inputs of the launch's; empty: it takes those as they are.
  Prepare prepare = {};
  std::vector<std::size_t> reads = {};  // arguments that this depends on; empty: all that the launch only reads
  bool same_points = false;             // of the launch, as if it took its inputs as they are
};

struct Variant {
  std::string name;
  std::shared_ptr<Kernel> kernel;
  core::Index group{1, 1, 1};
  core::Footprint footprint;
  std::shared_ptr<Preparation> preparation = nullptr;  // shared: with launches that wait for it
};

struct Choice;
struct Region {
  core::Box box;
  std::shared_ptr<Choice> choice;
};

// What one device knows of the variants for launches of one kind.
struct Choice {
  decide::Selection selection;
  int probing = 0;                    // probes on their way
  std::vector<core::SampleKey> keys;  // under which the store knows them
  // Regions of such launches that may favour different variants, each with a choice of its own. Launches hold what they
  // use of it.
  std::vector<Region> regions;
  bool settled = false;  // which variant is best where: none where one is good enough everywhere
  // What a launch in one piece took by the winner, so that it can be seen what dividing costs: units wait for the last
  // group of each region, and a region may not fill a device.
  core::Nanoseconds undivided{0};

  bool known() const { return selection.winner || selection.believed; }  // which one is best
};

struct Pool {
  std::string name;
  std::vector<Variant> variants;     // the base first; all take the same arguments, or make theirs of those
  std::vector<std::string> dropped;  // variants that build nowhere, or cannot be prepared, and why
  std::map<std::pair<std::string, std::size_t>, Choice> choices;  // by kind of launch and member
};

}  // namespace heddle::engine
