// Boxes of points: the currency of every decision. A launch is a box, a slice is a box, remaining work is a set of
// boxes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle::core {

// Three coordinates, fastest-varying first, as OpenCL numbers its dimensions.
using Index = std::array<std::int64_t, 3>;

// Half-open in every dimension. A launch of fewer dimensions has extent one in the others.
struct Box {
  Index begin{0, 0, 0};
  Index end{0, 0, 0};

  bool operator==(const Box&) const = default;
  std::int64_t extent(int axis) const { return end[axis] - begin[axis]; }
  bool empty() const { return extent(0) <= 0 || extent(1) <= 0 || extent(2) <= 0; }
  std::int64_t volume() const { return empty() ? 0 : extent(0) * extent(1) * extent(2); }
  bool contains(const Index& p) const;
  bool contains(const Box& other) const;
};

// The box of the given extents that begins at the origin.
Box box_of(std::int64_t x, std::int64_t y = 1, std::int64_t z = 1);
std::string to_string(const Box&);

Box intersect(const Box& a, const Box& b);
// `a` without `b` as at most six disjoint boxes; pieces stay as long as possible in the fast dimensions.
std::vector<Box> subtract(const Box& a, const Box& b);
// The parts below and from coordinate `at`; either may be empty.
std::pair<Box, Box> cut(const Box& box, int axis, std::int64_t at);

// The points that one work-group of a variant covers, and whether the variant itself checks that it stays inside the
// launch.
struct Footprint {
  Index points{1, 1, 1};
  bool guarded = false;

  bool operator==(const Footprint&) const = default;
};

// The largest part of `box` made of whole footprints, counted from the beginning of the launch's `space`. A guarded
// footprint may reach over the end of the space, so there the box may end with it. Empty if not one footprint fits.
Box align(const Box& box, const Footprint& footprint, const Box& space);

// What is made of whole footprints of both; guarded where both are. Beyond what any launch has, it only is large.
Footprint joint(const Footprint& a, const Footprint& b);
std::int64_t volume(const Footprint& footprint);  // at most 2^60

// A set of points kept as disjoint boxes.
class BoxSet {
 public:
  BoxSet() = default;
  explicit BoxSet(const Box& box) { add(box); }

  void add(const Box& box);     // points already in the set stay in it once
  void remove(const Box& box);  // points not in the set are no error
  bool covers(const Box& box) const;
  std::int64_t volume() const;
  bool empty() const { return boxes_.empty(); }
  Box hull() const;  // the smallest box around all of it
  BoxSet within(const Box& box) const;
  const std::vector<Box>& boxes() const { return boxes_; }

  // What there is of whole footprints, in boxes.
  std::vector<Box> whole_footprints(const Footprint& footprint, const Box& space) const;

  // Removes and returns a box of whole footprints holding about `points` points, at least one footprint thick along
  // `axis` and as wide as it can be across it; where all points are asked for, of the largest box that can be found.
  // Nothing where no whole footprint is left.
  std::optional<Box> take(const Footprint& footprint, const Box& space, std::int64_t points, int axis);
  // The same for a small part that is as compact as it can be: longest along x, then y, then z. It comes from the
  // smallest of the boxes that has so many points, or from the largest; or, with `where` from 0 to 1, from as near as
  // can be to that place of the space, along its slowest dimension, in whole steps.
  std::optional<Box> carve(const Footprint& footprint, const Box& space, std::int64_t points,
                           std::optional<double> where = std::nullopt, std::int64_t step = 1);

 private:
  void join_neighbours();
  std::vector<Box> boxes_;
};

}  // namespace heddle::core
