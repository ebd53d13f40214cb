#!/usr/bin/env bats
# install.bats - make install into a directory, run from there, and take it all away again.

setup_file() {
	cd "$BATS_TEST_DIRNAME/../.."
	command -v scdoc >/dev/null || skip 'no scdoc here (apt install scdoc)'
	export dest=$BATS_FILE_TMPDIR/dest
	make -s install DESTDIR="$dest" prefix=/usr
}

setup() {
	cd "$BATS_TEST_DIRNAME/../.."
	command -v scdoc >/dev/null || skip 'no scdoc here (apt install scdoc)'
}

@test "the installed program runs from its place" {
	cd "$BATS_TEST_TMPDIR"
	run "$dest/usr/bin/pagereel" --version
	[ "$status" = 0 ]
	[[ $output = pagereel\ [0-9]* ]]
}

@test "extension, licence and completion are where they are looked for" {
	[ -s "$dest/usr/lib/pagereel/pagereel.so" ]
	[ -s "$dest/usr/share/doc/pagereel/LICENSE" ]
	[ -s "$dest/usr/share/bash-completion/completions/pagereel" ]
}

@test "a model can be compiled against the installed headers" {
	echo '#include <replay/model.h>
	const struct model_ops model_mine = { .name = "mine" };' > "$BATS_TEST_TMPDIR/mine.c"
	cc -std=gnu11 -Wall -Werror -I "$dest/usr/include/pagereel" -c "$BATS_TEST_TMPDIR/mine.c" \
		-o "$BATS_TEST_TMPDIR/mine.o"
}

@test "every page in docs/man is installed" {
	for page in docs/man/*.scd; do
		page=$(basename "$page" .scd)
		[ -s "$dest/usr/share/man/man1/$page" ]
	done
}

@test "files carry no write permission for others" {
	[ -z "$(find "$dest" -type f -perm /022)" ]
}

@test "uninstall leaves nothing of ours and nothing else touched" {
	cp -a "$dest" "$BATS_TEST_TMPDIR/dest"
	echo mine > "$BATS_TEST_TMPDIR/dest/usr/bin/other"
	make -s uninstall DESTDIR="$BATS_TEST_TMPDIR/dest" prefix=/usr
	run find "$BATS_TEST_TMPDIR/dest" -type f
	[ "$output" = "$BATS_TEST_TMPDIR/dest/usr/bin/other" ]
}
