// Names of the kinds of devices as reports and selectors spell them, and the forms of a launch.
#include "device/device.hpp"

#include <algorithm>

namespace heddle::device {

const char* to_string(Kind kind) { return kind == Kind::cpu ? "cpu" : kind == Kind::gpu ? "gpu" : "accelerator"; }

Form form_of(const core::NdRange& range) {
  Form form{range.local, false, false};
  for (int d = 0; d < 3; ++d) {
    form.shifted = form.shifted || range.offset[d] != 0;
    form.wide = form.wide || range.global[d] >= wide_grid;
  }
  return form;
}

bool Kernel::is_prepared(const core::NdRange& range) const {
  return std::find(prepared.begin(), prepared.end(), form_of(range)) != prepared.end();
}

bool is_part(const Info& info) { return info.id.find('.') != std::string::npos; }

bool comes_before(const Info& a, const Info& b) {
  const auto rank = [](const Info& info) {
    return info.kind == Kind::gpu ? 2 : info.kind == Kind::accelerator ? 1 : 0;
  };
  return rank(a) != rank(b) ? rank(a) > rank(b) : a.units > b.units;
}

}  // namespace heddle::device
