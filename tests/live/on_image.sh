#!/bin/bash
# on_image.sh FS DIR COMMAND... - runs COMMAND with $mnt on a fresh file system of kind FS in an image
# below DIR, in a mount namespace of its own, so that mounts and loop devices go with it.
fs=$1 dir=$2
shift 2
if [ -z "$ON_IMAGE_INSIDE" ]; then
	ON_IMAGE_INSIDE=1 exec unshare -m --propagation private "$0" "$fs" "$dir" "$@"
fi
set -e
export mnt=$dir/mnt
mkdir -p "$mnt"
base=$fs
[ "$fs" = overlay ] && base=ext4
truncate -s 400M "$dir/img"
case $base in
ext4) mkfs.ext4 -q -F "$dir/img" ;;
xfs) mkfs.xfs -q -f "$dir/img" ;;
btrfs) mkfs.btrfs -q -f "$dir/img" ;;
esac
if [ "$fs" = overlay ]; then
	mkdir -p "$dir/base"
	mount -o loop "$dir/img" "$dir/base"
	mkdir -p "$dir/base/lower" "$dir/base/upper" "$dir/base/work"
	[ -n "$PREPARE_LOWER" ] && (mnt=$dir/base/lower && eval "$PREPARE_LOWER")
	mount -t overlay overlay -o "lowerdir=$dir/base/lower,upperdir=$dir/base/upper,workdir=$dir/base/work" "$mnt"
else
	mount -o loop "$dir/img" "$mnt"
fi
set +e
"$@"
