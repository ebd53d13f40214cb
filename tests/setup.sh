#!/bin/bash
# setup.sh build|test|bench - sees that the Debian packages for it are there. As root it installs what is
# missing; otherwise it names the command to run and exits 4. On another distribution it only checks that
# the compiler finds what the build needs.
set -u
build='gcc sqlite3 make pkg-config libc6-dev libtraceevent-dev libtracefs-dev libtracecmd-dev libsqlite3-dev
	libstreamvbyte-dev libzstd-dev'
test="$build libcmocka-dev bats clang libclang-rt-14-dev jq scdoc mandoc xfsprogs btrfs-progs
	e2fsprogs util-linux"
# For tests that are skipped without it.
wish=
[ "${1:-}" != test ] || wish='qemu-system-x86 busybox-static cpio kmod'
bench="$build trace-cmd linux-perf valgrind xfsprogs btrfs-progs e2fsprogs util-linux"
case ${1:-} in
build | test | bench) want=${!1} ;;
*) echo "usage: setup.sh build|test|bench" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null; then
	for tool in cc make pkg-config; do
		command -v "$tool" >/dev/null || { echo "setup: '$tool' is missing" >&2; exit 4; }
	done
	pkg-config --print-errors libtracefs libtraceevent libtracecmd sqlite3 libzstd || exit 4
	exit 0
fi

lacking() { # PACKAGE...
	local package state
	for package in "$@"; do
		state=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null)
		[ "$state" = 'install ok installed' ] || printf ' %s' "$package"
	done
}

missing=$(lacking $want) wished=$(lacking $wish)
[ -z "$missing$wished" ] && exit 0
if [ "$(id -u)" != 0 ]; then
	[ -n "$missing" ] || exit 0
	echo "setup: packages are missing; as root: apt-get install$missing" >&2
	exit 4
fi
echo "setup: installing$missing$wished"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt-get update -qq >"$log" 2>&1
if [ -n "$missing" ] && ! apt-get install -y -qq --no-install-recommends $missing >>"$log" 2>&1; then
	tail -15 "$log" >&2
	echo "setup: apt-get install$missing failed (see above)" >&2
	exit 4
fi
[ -z "$wished" ] || apt-get install -y -qq --no-install-recommends $wished >>"$log" 2>&1 ||
	echo "setup: without$wished ($(tail -1 "$log")): the tests that need them are skipped"
exit 0
