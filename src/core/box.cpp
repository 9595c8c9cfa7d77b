// Arithmetic of boxes and sets of boxes; the property test beside it holds it to "every point exactly once".
#include "core/box.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "core/errors.hpp"

namespace heddle::core {

namespace {

// The axis along which two boxes that agree in the other two touch, or -1.
int joint(const Box& a, const Box& b) {
  int axis = -1;
  for (int d = 0; d < 3; ++d) {
    if (a.begin[d] == b.begin[d] && a.end[d] == b.end[d]) continue;
    if (axis >= 0 || (a.end[d] != b.begin[d] && b.end[d] != a.begin[d])) return -1;
    axis = d;
  }
  return axis;
}

}  // namespace

bool Box::contains(const Index& p) const {
  for (int d = 0; d < 3; ++d) {
    if (p[d] < begin[d] || p[d] >= end[d]) return false;
  }
  return true;
}

bool Box::contains(const Box& other) const { return other.empty() || intersect(*this, other) == other; }

Box box_of(std::int64_t x, std::int64_t y, std::int64_t z) { return {{0, 0, 0}, {x, y, z}}; }

std::string to_string(const Box& box) {
  auto point = [](const Index& p) {
    return std::to_string(p[0]) + "," + std::to_string(p[1]) + "," + std::to_string(p[2]);
  };
  return "[" + point(box.begin) + " to " + point(box.end) + ")";
}

Box intersect(const Box& a, const Box& b) {
  Box out;
  for (int d = 0; d < 3; ++d) {
    out.begin[d] = std::max(a.begin[d], b.begin[d]);
    out.end[d] = std::min(a.end[d], b.end[d]);
  }
  return out.empty() ? Box{} : out;
}

std::vector<Box> subtract(const Box& a, const Box& b) {
  if (a.empty()) return {};
  const Box hole = intersect(a, b);
  if (hole.empty()) return {a};
  std::vector<Box> out;
  Box rest = a;
  for (int d = 2; d >= 0; --d) {  // slow dimensions first, so that pieces stay long in the fast ones
    auto [below, upper] = cut(rest, d, hole.begin[d]);
    auto [middle, above] = cut(upper, d, hole.end[d]);
    if (!below.empty()) out.push_back(below);
    if (!above.empty()) out.push_back(above);
    rest = middle;
  }
  return out;
}

std::pair<Box, Box> cut(const Box& box, int axis, std::int64_t at) {
  Box below = box, above = box;
  below.end[axis] = std::clamp(at, box.begin[axis], box.end[axis]);
  above.begin[axis] = below.end[axis];
  return {below, above};
}

Box align(const Box& box, const Footprint& footprint, const Box& space) {
  Box out;
  for (int d = 0; d < 3; ++d) {
    const std::int64_t f = footprint.points[d], origin = space.begin[d];
    if (f < 1) throw InternalError("a footprint of " + std::to_string(f) + " points; at least 1 expected");
    out.begin[d] = origin + (box.begin[d] - origin + f - 1) / f * f;
    out.end[d] = origin + (box.end[d] - origin) / f * f;
    if (footprint.guarded && box.end[d] == space.end[d]) out.end[d] = box.end[d];
  }
  return out.empty() ? Box{} : out;
}

void BoxSet::add(const Box& box) {
  std::vector<Box> fresh{box};
  for (const Box& mine : boxes_) {
    std::vector<Box> next;
    for (const Box& piece : fresh) {
      auto rest = subtract(piece, mine);
      next.insert(next.end(), rest.begin(), rest.end());
    }
    fresh = std::move(next);
  }
  for (const Box& piece : fresh) {
    if (!piece.empty()) boxes_.push_back(piece);
  }
  join_neighbours();
}

void BoxSet::remove(const Box& box) {
  std::vector<Box> next;
  for (const Box& mine : boxes_) {
    auto rest = subtract(mine, box);
    next.insert(next.end(), rest.begin(), rest.end());
  }
  boxes_ = std::move(next);
  join_neighbours();
}

BoxSet BoxSet::within(const Box& box) const {
  BoxSet out;
  for (const Box& mine : boxes_) {
    if (const Box part = intersect(mine, box); !part.empty()) out.boxes_.push_back(part);
  }
  out.join_neighbours();
  return out;
}

bool BoxSet::covers(const Box& box) const {
  std::int64_t inside = 0;
  for (const Box& mine : boxes_) inside += intersect(mine, box).volume();
  return inside == box.volume();
}

std::int64_t BoxSet::volume() const {
  std::int64_t sum = 0;
  for (const Box& mine : boxes_) sum += mine.volume();
  return sum;
}

Box BoxSet::hull() const {
  if (boxes_.empty()) return {};
  Box out = boxes_.front();
  for (const Box& mine : boxes_) {
    for (int d = 0; d < 3; ++d) {
      out.begin[d] = std::min(out.begin[d], mine.begin[d]);
      out.end[d] = std::max(out.end[d], mine.end[d]);
    }
  }
  return out;
}

std::vector<Box> BoxSet::whole_footprints(const Footprint& footprint, const Box& space) const {
  const auto is_whole = [&](const Box& mine) { return align(mine, footprint, space) == mine; };
  if (boxes_.size() == 1 || std::all_of(boxes_.begin(), boxes_.end(), is_whole)) {
    std::vector<Box> out;
    for (const Box& mine : boxes_) {
      if (const Box whole = align(mine, footprint, space); !whole.empty()) out.push_back(whole);
    }
    return out;
  }
  BoxSet gone(space), out(align(space, footprint, space));
  for (const Box& mine : boxes_) gone.remove(mine);
  for (Box hole : gone.boxes_) {
    for (int d = 0; d < 3; ++d) {
      const std::int64_t f = footprint.points[d], origin = space.begin[d];
      hole.begin[d] = origin + (hole.begin[d] - origin) / f * f;
      hole.end[d] = origin + (hole.end[d] - origin + f - 1) / f * f;
    }
    out.remove(hole);
  }
  return std::move(out.boxes_);
}

namespace {

// The largest box that one of the largest of these grows to within all of them.
Box large_box_of(std::vector<Box> boxes) {
  const auto larger = [](const Box& a, const Box& b) { return a.volume() > b.volume(); };
  std::stable_sort(boxes.begin(), boxes.end(), larger);
  constexpr std::size_t seeds = 4, many = 32;  // among many, looking takes longer than small boxes do
  if (boxes.size() > many) return boxes.front();
  const auto covered = [&](const Box& box) {
    std::int64_t inside = 0;
    for (const Box& one : boxes) inside += intersect(one, box).volume();
    return inside == box.volume();
  };
  // By the length of a neighbour, as long as there is one to grow by.
  const auto grow = [&](Box& box, int d) {
    for (auto one = boxes.begin(); one != boxes.end();) {
      Box longer = box;
      longer.begin[d] = std::min(box.begin[d], one->begin[d]);
      longer.end[d] = std::max(box.end[d], one->end[d]);
      const bool touches = one->begin[d] == box.end[d] || one->end[d] == box.begin[d];
      const bool grows = touches && covered(longer);
      if (grows) box = longer;
      one = grows ? boxes.begin() : one + 1;
    }
  };
  Box out = boxes.front();
  for (std::size_t s = 0; s < std::min(seeds, boxes.size()); ++s) {
    std::array<int, 3> order = {0, 1, 2};
    do {
      Box grown = boxes[s];
      for (int d : order) grow(grown, d);
      if (larger(grown, out)) out = grown;
    } while (std::next_permutation(order.begin(), order.end()));
  }
  return out;
}

}  // namespace

std::optional<Box> BoxSet::take(const Footprint& footprint, const Box& space, std::int64_t points, int axis) {
  if (axis < 0 || axis > 2) throw InternalError("axis " + std::to_string(axis) + "; 0, 1 or 2 expected");
  std::vector<Box> wholes = whole_footprints(footprint, space);
  if (wholes.size() > 1 && points >= volume()) wholes = {large_box_of(std::move(wholes))};
  for (const Box& whole : wholes) {
    const std::int64_t f = footprint.points[axis];
    const std::int64_t across = whole.volume() / whole.extent(axis);
    // Rounded up, so that a launch cut into n equal parts is n slices and not n and a rest.
    const std::int64_t layer = across * f;  // points of one layer of footprints
    const std::int64_t layers = std::max<std::int64_t>(1, points / layer + (points % layer != 0));
    // Compared before multiplying: a caller may ask for "everything" with the largest integer.
    const std::int64_t thick = layers >= (whole.extent(axis) + f - 1) / f ? whole.extent(axis) : layers * f;
    const Box taken = cut(whole, axis, whole.begin[axis] + thick).first;
    remove(taken);
    return taken;
  }
  return std::nullopt;
}

std::optional<Box> BoxSet::carve(const Footprint& footprint, const Box& space, std::int64_t points,
                                 std::optional<double> where, std::int64_t step) {
  int slowest = 0;
  for (int d = 0; d < 3; ++d) slowest = space.extent(d) > 1 ? d : slowest;
  // Of a box, the part of it that is nearest to the place, or its beginning.
  const auto part_of = [&](const Box& from) {
    Box part = from;
    std::int64_t size = 1;  // points so far, of one footprint in the dimensions to come
    for (int d = 0; d < 3; ++d) size *= std::min(footprint.points[d], from.extent(d));
    for (int d = 0; d < 3; ++d) {
      const std::int64_t f = std::min(footprint.points[d], from.extent(d));
      const std::int64_t most = (from.extent(d) + f - 1) / f;
      const std::int64_t count = std::clamp<std::int64_t>((points + size - 1) / size, 1, most);
      const std::int64_t length = std::min(from.extent(d), count * f);
      size = size / f * length;
      if (where && d == slowest) {
        auto place = space.begin[d] + static_cast<std::int64_t>(*where * static_cast<double>(space.extent(d)));
        place -= (place - space.begin[d]) % std::max(step, f);
        const std::int64_t room = (from.extent(d) - length) / f;
        part.begin[d] += std::clamp<std::int64_t>((place - from.begin[d]) / f, 0, room) * f;
      }
      part.end[d] = part.begin[d] + length;
    }
    return part;
  };
  const auto distance = [&](const Box& part) {
    const auto place = static_cast<double>(part.begin[slowest] - space.begin[slowest]);
    return std::abs(place - *where * static_cast<double>(space.extent(slowest)));
  };
  std::optional<Box> from;
  for (const Box& whole : whole_footprints(footprint, space)) {
    const bool enough = whole.volume() >= points, had_enough = from && from->volume() >= points;
    const bool smaller = !from || whole.volume() < from->volume();
    const bool better = where && enough && had_enough ? distance(part_of(whole)) < distance(part_of(*from)) : smaller;
    if (!from || (enough && (!had_enough || better)) || (!enough && !had_enough && !smaller)) from = whole;
  }
  if (!from) return std::nullopt;
  const Box taken = part_of(*from);
  remove(taken);
  return taken;
}

Footprint joint(const Footprint& a, const Footprint& b) {
  Footprint out{{}, a.guarded && b.guarded};
  constexpr std::int64_t large = std::int64_t{1} << 40;
  for (int d = 0; d < 3; ++d) {
    const std::int64_t common = std::gcd(a.points[d], b.points[d]);
    const double both = static_cast<double>(a.points[d] / common) * static_cast<double>(b.points[d]);
    out.points[d] = both > static_cast<double>(large) ? large : a.points[d] / common * b.points[d];
  }
  return out;
}

std::int64_t volume(const Footprint& f) {
  const double all =
      static_cast<double>(f.points[0]) * static_cast<double>(f.points[1]) * static_cast<double>(f.points[2]);
  constexpr std::int64_t most = std::int64_t{1} << 60;
  return all > static_cast<double>(most) ? most : f.points[0] * f.points[1] * f.points[2];
}

void BoxSet::join_neighbours() {
  std::sort(boxes_.begin(), boxes_.end(), [](const Box& a, const Box& b) {
    return std::tie(a.begin[2], a.begin[1], a.begin[0]) < std::tie(b.begin[2], b.begin[1], b.begin[0]);
  });
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    for (std::size_t j = i + 1; j < boxes_.size(); ++j) {
      const int axis = joint(boxes_[i], boxes_[j]);
      if (axis < 0) continue;
      boxes_[i].begin[axis] = std::min(boxes_[i].begin[axis], boxes_[j].begin[axis]);
      boxes_[i].end[axis] = std::max(boxes_[i].end[axis], boxes_[j].end[axis]);
      boxes_.erase(boxes_.begin() + static_cast<std::ptrdiff_t>(j));
      j = i;  // the grown box may now touch one that was passed over
    }
  }
}

}  // namespace heddle::core
