#!/usr/bin/env bash
# The layering check must fail where the layering is broken, however the include is spelt.
set -u
check=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
# broken FILE LINE: a tree in which FILE holds that line must be refused.
broken() {
  rm -rf "$work/tree"
  mkdir -p "$work/tree/src/core" "$work/tree/src/device" "$work/tree/src/profile" "$work/tree/$(dirname "$1")"
  touch "$work/tree/src/core/box.hpp" "$work/tree/src/device/device.hpp" "$work/tree/src/device/vendor.hpp"
  echo "$2" >"$work/tree/$1"
  if "$check" "$work/tree" >/dev/null; then echo "accepted: $1: $2"; failures=$((failures + 1)); fi
}
broken src/core/a.cpp '#include "device/device.hpp"'
broken src/core/a.cpp '#include "../device/device.hpp"'
broken src/core/a.cpp '#  include "src/device/device.hpp"'
broken src/profile/a.hpp '#include "device/device.hpp"'
broken src/core/a.h '#include <CL/cl.h>'
broken src/device/a.cpp '#include <sqlite3.h>'
broken workloads/a.cpp '#include "device/vendor.hpp"'
broken src/elsewhere/a.cpp ''
mkdir -p "$work/good/src/device" "$work/good/src/core"
touch "$work/good/src/core/box.hpp"
echo '#include "core/box.hpp"' >"$work/good/src/device/a.cpp"
"$check" "$work/good" >/dev/null || { echo "refused what is right"; failures=$((failures + 1)); }
[ "$failures" = 0 ] && echo "all right" || exit 1
