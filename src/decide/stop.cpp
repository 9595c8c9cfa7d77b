// The names that a rule may use.
#include "decide/stop.hpp"

#include "core/errors.hpp"

namespace heddle::decide {

namespace {

core::Configuration values_of(const Progress& p) {
  return {{{"evaluations", p.evaluations},
           {"seconds", p.seconds},
           {"since", p.since},
           {"best", p.best > 0 ? p.best : 1e300},
           {"attained", p.best > 0 ? p.floor / p.best : 0.0}}};
}

}  // namespace

Stop::Stop(const std::string& text) : when_(text) { (void)(*this)({}); }  // so that unknown names are told at once

bool Stop::operator()(const Progress& progress) const { return when_.holds(values_of(progress)); }

}  // namespace heddle::decide
