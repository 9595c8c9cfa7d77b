// Strategies that need no model of what they search.
#pragma once

#include "decide/search.hpp"

namespace heddle::decide {

Proposals propose_all(Searching s);
Proposals propose_by_chance(Searching s);
Proposals propose_by_breeding(Searching s);
Proposals propose_by_annealing(Searching s);
Proposals propose_by_evolution(Searching s);

}  // namespace heddle::decide
