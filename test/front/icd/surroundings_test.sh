#!/usr/bin/env bash
# Heddle's driver among bad neighbours: drivers that do not load, are hollow, or are Heddle itself; and as it is installed.
# surroundings_test.sh HEDDLE HOLLOW_DRIVER BUILD_FOLDER HOLLOW_PROGRAM FAULTY_DRIVER
set -u
heddle=$1 hollow=$2 build=$3 probe=$4 faulty=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_DATA_HOME=$work/data HEDDLE_CACHE=$work/cache
unset OCL_ICD_FILENAMES OPENCL_VENDOR_PATH HEDDLE HEDDLE_DEVICES HEDDLE_LOG HEDDLE_TRACE HEDDLE_SHOW HEDDLE_REPORT HEDDLE_PROVE
# One driver that works, whichever the machine has first.
for file in "${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}"/*.icd; do
  read -r real <"$file" || true  # the last line may have no end
  case $real in '' | *libheddle-icd*) ;; *) break ;; esac
done
unset OCL_ICD_VENDORS
library=$(cat "$(dirname "$(dirname "$heddle")")"/share/heddle/vendors/heddle.icd)
failures=0

# vendors NAME LIBRARY...: a folder of .icd files, one for each.
vendors() {
  local folder=$work/$1 number=0 one
  shift
  mkdir -p "$folder"
  for one; do echo "$one" >"$folder/$((number++)).icd"; done
  echo "$folder"
}
# expect VENDORS CODE PATTERN TIMES COMMAND...: below Heddle are the VENDORS; the command ends in time with this code, and the
# pattern stands so many times in what it printed.
expect() {
  local folder=$1 code=$2 pattern=$3 times=$4
  shift 4
  local output got
  output=$(OCL_ICD_VENDORS=$folder timeout 60 "$heddle" run "$@" 2>&1)
  got=$?
  if [ "$got" != "$code" ] || [ "$(grep -cE -- "$pattern" <<<"$output")" != "$times" ]; then
    printf 'FAILED: %s on %s\n  exit code %s (expected %s), %s times: %s\n%s\n' "$*" "$(cat "$folder"/*.icd | xargs)" "$got" "$code" "$times" "$pattern" "$output"
    failures=$((failures + 1))
  fi
}

good=$(vendors good "$real")
expect "$good" 0 'Platform .*: Heddle' 1 clinfo -l
expect "$good" 0 'Device #0' 1 clinfo -l
expect "$(vendors missing /nowhere/libnothing.so "$real")" 0 'warning: OpenCL driver /nowhere/libnothing.so cannot be loaded' 1 clinfo -l
expect "$(vendors missing /nowhere/libnothing.so "$real")" 0 'Device #0' 1 clinfo -l
expect "$(vendors only_missing /nowhere/libnothing.so)" 0 'warning: there is no OpenCL device below Heddle' 1 clinfo -l
expect "$(vendors text_file "$0" "$real")" 0 'Device #0' 1 clinfo -l
expect "$(vendors empty_file "" "$real")" 0 'Device #0' 1 clinfo -l
expect "$(vendors no_opencl libc.so.6 "$real")" 0 'has no clIcdGetPlatformIDsKHR' 1 clinfo -l
mkdir -p "$work/none"
expect "$work/none" 0 'warning: there is no OpenCL device below Heddle' 1 clinfo -l
# Itself, by its own name, by another, and alone: then the machine's own drivers are below it.
expect "$(vendors itself "$library" "$real")" 0 'Device #' 1 clinfo -l
cp "$library" "$work/another-name.so"
expect "$(vendors renamed "$work/another-name.so" "$real")" 0 'Device #' 1 clinfo -l
expect "$(vendors alone "$library")" 0 'Platform .*: Heddle' 1 clinfo -l
# Hollow drivers: errors, never a crash or a hang.
poor=$(vendors poor "$hollow")
expect "$poor" 0 'Hollow' 1 clinfo -l
expect "$poor" 0 'all calls answered' 1 "$probe"
expect "$(vendors both "$hollow" "$real")" 0 'Device #' 3 env HEDDLE_SHOW=all clinfo -l
HOLLOW=no_platform expect "$poor" 0 'has no platform' 1 clinfo -l
HOLLOW=no_device expect "$poor" 0 'offers no device' 1 clinfo -l
HOLLOW=no_device expect "$(vendors both "$hollow" "$real")" 0 'Device #0' 1 clinfo -l
# A driver that crashes at its first build: left out with one line, and remembered.
if [ -f /etc/OpenCL/vendors/pocl.icd ]; then
  crashing=$(vendors crashing "$faulty" "$real")
  FAULTY_SCRIPT='build 1 crash' expect "$crashing" 0 "warning: OpenCL driver $faulty is set aside: .* crashed \\(SIGILL\\)" 1 clinfo -l
  expect "$crashing" 0 'is set aside' 1 clinfo -l
  expect "$crashing" 0 'Device #' 1 clinfo -l
  expect "$crashing" 0 'is set aside' 0 env HEDDLE_PROVE=again clinfo -l
fi
# Bad settings: said once, no device.
expect "$good" 0 "warning: HEDDLE_SHOW='x': one or all expected" 1 env HEDDLE_SHOW=x clinfo -l
expect "$good" 0 "warning: HEDDLE_PROVE='x': on, off or again expected" 1 env HEDDLE_PROVE=x clinfo -l
expect "$good" 0 "warning: HEDDLE_DEVICES: 'gpu7' matches no device" 1 env HEDDLE_DEVICES=gpu7 clinfo -l
expect "$good" 0 'cannot be created' 1 env HEDDLE_TRACE=/nowhere/trace.json clinfo -l
# Runs inside runs keep the user's drivers, unless they are changed in between.
expect "$good" 0 'Hollow' 1 env OCL_ICD_VENDORS="$poor" "$heddle" run clinfo -l
expect "$poor" 0 'Hollow' 1 "$heddle" run clinfo -l
# HEDDLE=off: the same device, and nothing else happens.
expect "$good" 0 'Device #0' 1 env HEDDLE=off clinfo -l
expect "$good" 0 'heddle:' 0 env HEDDLE=off HEDDLE_REPORT=on HEDDLE_TRACE="$work/off.json" clinfo -l
[ ! -e "$work/off.json" ] || { echo "FAILED: HEDDLE=off wrote a trace"; failures=$((failures + 1)); }

# Installed: the library, the program, and the file that loaders find. Only here do both platforms stand side by side.
DESTDIR=$work/root cmake --install "$build" >"$work/install.log" 2>&1 || { cat "$work/install.log"; failures=$((failures + 1)); }
icd=$work/root/etc/OpenCL/vendors/heddle.icd
installed=$work/root$(cat "$icd")
[ -f "$installed" ] || { echo "FAILED: $icd names $(cat "$icd"), which was not installed"; failures=$((failures + 1)); }
DESTDIR=$work/other cmake --install "$build" --prefix /opt/heddle >/dev/null 2>&1 # never without DESTDIR: it would write to /etc
grep -qx "/opt/heddle/.*/libheddle-icd.so" "$work/other/opt/heddle/share/heddle/vendors/heddle.icd" || {
  echo "FAILED: another prefix"
  failures=$((failures + 1))
}
listed=$(OCL_ICD_VENDORS=$(vendors beside "$installed" "$real") timeout 60 clinfo -l 2>&1)
[ "$(grep -c 'Platform #' <<<"$listed")" = 2 ] && grep -q 'Heddle' <<<"$listed" || {
  printf 'FAILED: installed beside another driver:\n%s\n' "$listed"
  failures=$((failures + 1))
}
names=$(nm -D --defined-only "$installed" | awk '{print $3}' | sort | xargs)
[ "$names" = "clGetExtensionFunctionAddress clGetPlatformInfo clIcdGetPlatformIDsKHR" ] || [ -n "${HEDDLE_SANITIZED:-}" ] || {
  echo "FAILED: exported: $names"
  failures=$((failures + 1))
}
[ $failures = 0 ] && echo "surroundings: all right"
exit $failures
