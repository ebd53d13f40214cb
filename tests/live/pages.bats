# pages.bats - the demand stream has exactly the pages that a reader asked for, on every file system.
load common

exact_reads() {
	local bytes how want got n
	"$helpers/reader" make "$mnt/file" 33554432
	for bytes in 1024 4096 65536 1048576; do
		for how in seq random; do
			n=$((16777216 / bytes))
			((n > 4096)) && n=4096
			"$pagereel" capture -f -o "$dir/x.db" -- \
				"$helpers/reader" read "$mnt/file" $bytes $n $how >"$dir/out" || return 1
			want=$(head -1 "$dir/out")
			got=$(demand "$dir/x.db" "$mnt/file") || return 1
			echo "$bytes bytes $how: asked for $want, recorded $got"
			[ "$got" = "$want 0 0 100.0000" ] || return 1
		done
	done
}

exact_small_files() {
	local want got
	mkdir "$mnt/d"
	"$helpers/reader" makedir "$mnt/d" 2000
	"$pagereel" capture -f -o "$dir/x.db" -- "$helpers/reader" cat "$mnt/d" 1048576 >"$dir/out" ||
		return 1
	want=$(head -1 "$dir/out")
	got=$(demand "$dir/x.db" "$mnt/d")
	echo "2000 small files: asked for $want, recorded $got"
	[ "$got" = "$want 0 0 100.0000" ]
}

on() { # FS
	need_hits
	command -v mkfs.${1/overlay/ext4} >/dev/null || skip "no mkfs for $1"
	grep -qw "$1" /proc/filesystems || skip "the kernel has no $1"
	export dir pagereel helpers demand_count
	export -f exact_reads exact_small_files demand
	"$BATS_TEST_DIRNAME/on_image.sh" "$1" "$dir" bash -c 'exact_reads && exact_small_files'
	assert_nothing_left
}

@test "ext4: pages asked for are exact, past the end of small files, too" { on ext4; }
@test "xfs: pages asked for are exact, past the end of small files, too" { on xfs; }
@test "btrfs: pages asked for are exact, past the end of small files, too" { on btrfs; }
@test "overlayfs: pages asked for are exact, past the end of small files, too" { on overlay; }

@test "buffered writes of whole pages are counted on ext4" {
	need_hits
	grep -qw ext4 /proc/filesystems || skip 'the kernel has no ext4'
	export dir pagereel helpers demand_count
	export -f demand
	run "$BATS_TEST_DIRNAME/on_image.sh" ext4 "$dir" bash -c '
		"$helpers/reader" make "$mnt/file" 8388608
		"$pagereel" capture -o "$dir/x.db" -- "$helpers/reader" write "$mnt/file" 8192 500 2>/dev/null
		demand "$dir/x.db" "$mnt/file"'
	echo "$output"
	[ "${lines[0]}" = 1000 ]
	[ "${lines[1]}" = "0 1000 0 100.0000" ]
}
