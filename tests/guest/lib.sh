# SPDX-License-Identifier: GPL-2.0-or-later
# lib.sh - what the guest suites share: tools, kernels, initrds, disks. Sourced at the top of the tree, with
# $dir set. Functions end the script: 77 with the reason if this host cannot do it.

guest_skip() { echo "$(basename "$0"): skipped: $*"; exit 77; }

guest_need() { # TOOL...
	local tool
	for tool in qemu-system-x86_64 cpio modprobe dpkg "$@"; do
		command -v "$tool" >/dev/null ||
			guest_skip "no $tool here (Debian: qemu-system-x86, cpio, kmod, e2fsprogs, sqlite3)"
	done
	[ -x /bin/busybox ] || guest_skip 'no busybox here (Debian: busybox-static)'
	command -v apt-get >/dev/null || guest_skip 'no apt-get here to get a kernel with'
}

# Sets version; the kernel is unpacked to $dir/kernel/$version and never installed.
guest_kernel() { # META VERSION
	version=$(tests/guest/fetch-kernel.sh "$1" "$dir/kernel" 2>"$dir/log") ||
		guest_skip "no Debian kernel to be had: $1 ($(tail -1 "$dir/log"))"
	case $version in
	$2.*) ;;
	*) guest_skip "$1 is $version here, not $2" ;;
	esac
}

guest_workload() {
	[ "$dir/workload" -nt tests/truth/workload.c ] ||
		${CC:-cc} -O2 -Wall -Wextra -o "$dir/workload" tests/truth/workload.c -lm || exit 4
}

# Sets initrd, with the programs named; made anew when one of them is newer.
guest_initrd() { # PROGRAM...
	local program old=
	initrd=$dir/initrd-$version.gz
	for program in "$@" tests/guest/init; do
		[ "$program" -ot "$initrd" ] || old=1
	done
	[ -z "$old" ] || tests/guest/mkinitramfs.sh "$dir/kernel/$version" "$initrd" "$@" || exit 4
}

# $dir/share/data.img: an ext4 file system with one file 'data'.
guest_image() { # SIZE DATA_MB
	local image=$dir/share/data.img
	[ ! -e "$image" ] || return 0
	rm -rf "$dir/root" && mkdir "$dir/root" && truncate -s "$1" "$dir/share/data.new" &&
		dd if=/dev/urandom of="$dir/root/data" bs=1M count="$2" status=none &&
		mkfs.ext4 -q -F -b 4096 -d "$dir/root" "$dir/share/data.new" && mv "$dir/share/data.new" "$image" || exit 4
	rm -r "$dir/root"
}
