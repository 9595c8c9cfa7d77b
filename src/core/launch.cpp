// The text form of a launch's shape, the key under which its times are kept.
#include "core/launch.hpp"

namespace heddle::core {

std::string shape_of(const Launch& launch) {
  auto extents = [](const Index& i) {
    return std::to_string(i[0]) + "x" + std::to_string(i[1]) + "x" + std::to_string(i[2]);
  };
  const Box& s = launch.space;
  std::string out = extents({s.extent(0), s.extent(1), s.extent(2)}) + "/" + extents(launch.group);
  for (const Argument& a : launch.arguments) {
    if (a.kind == Argument::Kind::buffer) out += " b" + std::to_string(a.size);
    if (a.kind == Argument::Kind::local) out += " l" + std::to_string(a.size);
    if (a.kind != Argument::Kind::scalar) continue;
    if (const auto* i = std::get_if<std::int64_t>(&a.value)) out += " i" + std::to_string(*i);
    if (const auto* b = std::get_if<bool>(&a.value)) out += *b ? " i1" : " i0";
  }
  return out;
}

}  // namespace heddle::core
