#!/usr/bin/env bash
# Programs print the same and end the same on Heddle as on the driver below it.
# compare_test.sh HEDDLE FOLDER_OF_PROGRAMS own|groups|few|others|long [SETTING=VALUE...]
#   own     our programs in C and Python, the examples
#   groups  those that leave the size of groups to the driver, which tries several
#   few     some of the others
#   others  clinfo, clpeak and CLBlast's tests, those that take seconds
#   long    those that take minutes
set -u
heddle=$1 programs=$2 which=$3
shift 3
here=$(dirname "$(readlink -f "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_DATA_HOME=$work/data
unset HEDDLE HEDDLE_DEVICES HEDDLE_SPLIT HEDDLE_VARIANTS HEDDLE_APART HEDDLE_LOG HEDDLE_TRACE HEDDLE_SHOW HEDDLE_REPORT
[ $# = 0 ] || export "$@"
# Where several drivers are installed, programs would take the first and Heddle the best: so both get the same one.
if [ -z "${OCL_ICD_VENDORS:-}" ]; then
  mkdir "$work/vendors"
  for one in /etc/OpenCL/vendors/*pocl*.icd /etc/OpenCL/vendors/*.icd; do
    case $one in */heddle.icd) ;; *) [ -f "$one" ] && break ;; esac
  done
  cp "$one" "$work/vendors/"
  export OCL_ICD_VENDORS=$work/vendors
fi
failures=0 done=0
fail() { printf 'FAILED: %s\n' "$*"; failures=$((failures + 1)); }

# same FILTER COMMAND...: exit code and standard output, passed through FILTER, are the same on both; that both are not there, hang or
# crash alike does not count.
same() {
  local filter=$1 inner
  shift
  echo "$*"
  timeout 600 "$@" >"$work/inner" 2>"$work/inner.err"
  inner=$?
  if [ $inner != 0 ]; then  # by chance, perhaps: PoCL fails now and then on a busy machine
    timeout 600 "$@" >"$work/inner" 2>"$work/inner.err"
    inner=$?
  fi
  timeout 600 "$heddle" run "$@" >"$work/outer" 2>"$work/outer.err"
  outer=$?
  done=$((done + 1))
  if [ $outer -ge 124 ] || [ ! -s "$work/outer" ]; then
    fail "$* (exit code $outer)"
    head -20 "$work/outer.err"
  elif [ $inner != $outer ] || ! diff <($filter <"$work/inner") <($filter <"$work/outer") >"$work/difference"; then
    fail "$* (inner driver: $inner, Heddle: $outer)"
    head -40 "$work/difference" "$work/outer.err"
  fi
}
# alone PATTERN COMMAND...: on Heddle only, for what checks itself; no line may match the pattern.
alone() {
  local pattern=$1
  shift
  echo "$*"
  done=$((done + 1))
  timeout 900 "$heddle" run "$@" >"$work/outer" 2>&1 || fail "$* (exit code $?)"
  ! grep -E "$pattern" "$work/outer" || fail "$*"
}
# right COMMAND...: as same, and the program itself finds everything right.
right() {
  same as_it_is "$@"
  [ $outer = 0 ] || fail "$* (exit code $outer)"
}
passes_itself() { timeout 600 "$heddle" run "$@" >"$work/outer" 2>&1 || { fail "$* (exit code $?)"; head -40 "$work/outer"; }; done=$((done + 1)); }

# What must differ between the two: names of the platform, what only the inner driver offers, numbers that change from run to run.
of_clinfo() {
  grep -vE 'Platform (Name|Vendor|Version|Extensions|Numeric)|cl_khr_icd|cl_khr_extended_versioning|cl_pocl|Driver Version|conformance|Global memory size|sub-devices|partition|affinity|[Cc]ommand buffer|cl_khr_command_buffer|Out-of-order execution|Profiling|Extensions|\[(POCL|HEDDLE|NV)\]|clGetPlatformInfo|cl_[a-z]+_|Max memory allocation|Max clock|suffix'
}
of_clinfo_without_images() { of_clinfo | grep -vE '[Ii]mage|pixels|sampler'; }
of_clpeak() { sed -E 's/[0-9.]+( us)?$//; s/: *$//' | grep -vE 'Platform|Driver version'; }
of_clblast() { sed 's/\x1b\[[0-9;]*m//g'; }
as_it_is() { cat; }
clblast() { same of_clblast "clblast_test_$1" -platform 0 -device 0; }

case $which in
  own)
    for program in buffers events queues programs svm contexts threads turns groups; do right "$programs/$program"; done
    HEDDLE_DEVICES=cpu/2 HEDDLE_SPLIT=auto right "$programs/turns"  # times are taken first
    # PoCL's sub-devices have no images.
    case ${HEDDLE_DEVICES:-} in cpu/*) passes_itself "$programs/images" ;; *) right "$programs/images" ;; esac
    right /usr/bin/python3 "$here/driver.py"
    right "$programs/heat"
    # Ends in the middle of work, and forks: what the inner driver does is not the measure there.
    for how in main thread worker; do
      for ((i = 0; i < 20; ++i)); do passes_itself "$programs/exit_in_flight" $how; done
    done
    passes_itself "$programs/forked"
    # Switched off and observed it is the same, too.
    HEDDLE=off right "$programs/events"
    HEDDLE_REPORT=on HEDDLE_TRACE=$work/trace-%p.json right "$programs/events"
    HEDDLE_REPORT=on HEDDLE_TRACE=$work/trace-%p.json right "$programs/threads"
    for trace in "$work"/trace-*.json; do
      python3 -c 'import json, sys; assert any(e["ph"] == "X" for e in json.load(open(sys.argv[1])))' "$trace" || fail "$trace"
    done
    HEDDLE_SHOW=all right "$programs/queues"
    unset HEDDLE_APART
    for devices in cpu cpu/2; do HEDDLE_SHOW=all HEDDLE_DEVICES=$devices passes_itself "$programs/devices"; done ;;
  groups)
    # tried COUNT: so many sizes of groups are in the store.
    tried() { [ "$("$heddle" profile list 2>/dev/null | grep -c 'groups of [0-9]')" "$@" ] || fail "sizes of groups tried: not $*"; }
    for never in HEDDLE_VARIANTS=off HEDDLE=off; do env "$never" "$heddle" run "$programs/groups" >/dev/null || fail "$never"; done
    HEDDLE_VARIANTS=always HEDDLE_EXACTNESS=exact "$heddle" run "$programs/groups" >/dev/null || fail exact
    tried = 0
    HEDDLE_VARIANTS=often "$heddle" run "$programs/groups" 5 2>&1 | grep -q "HEDDLE_VARIANTS='often': auto, off or always expected" || fail "a bad value is told"
    export HEDDLE_VARIANTS=always
    right "$programs/groups"
    tried -gt 10
    right "$programs/groups"  # with what it has found
    HEDDLE_REPORT=on right "$programs/groups"
    "$heddle" profile forget --all >/dev/null
    HEDDLE_VARIANTS=beside right "$programs/groups"  # as on GPUs: what is timed runs in another queue
    tried -gt 3
    for program in buffers events queues svm contexts threads turns heat; do HEDDLE_VARIANTS=beside right "$programs/$program"; done
    for ((i = 0; i < 10; ++i)); do HEDDLE_VARIANTS=beside passes_itself "$programs/exit_in_flight" main; done
    HEDDLE_DEVICES=cpu/2 right "$programs/groups"
    HEDDLE_DEVICES=cpu/2 HEDDLE_SPLIT=always HEDDLE_APART=cpu.0 right "$programs/groups"
    for program in buffers events queues svm contexts threads turns heat; do right "$programs/$program"; done
    for ((i = 0; i < 10; ++i)); do passes_itself "$programs/exit_in_flight" main; done ;;
  few) for test in xaxpy xdot xger xomatcopy; do clblast $test; done ;;
  others)
    case ${HEDDLE_DEVICES:-} in  # PoCL's sub-devices have no images
      cpu/*) same of_clinfo_without_images clinfo ;;
      *) same of_clinfo clinfo ;;
    esac
    same of_clpeak clpeak --kernel-latency --transfer-bandwidth
    for test in xaxpy xscal xswap xcopy xdot xdotu xnrm2 xasum xamax xger xgeru xhad xaxpybatched xomatcopy; do clblast $test; done ;;
  long)
    alone 'clCreate|clEnqueue|[Ee]rror:' clpeak
    for test in xgemm xtrsm xgemv; do
      alone '[1-9][0-9]* test\(s\) failed|Test failed' "clblast_test_$test" -platform 0 -device 0
    done ;;
esac
echo "$which: $((done - failures)) of $done are right"
exit $((failures > 0))
