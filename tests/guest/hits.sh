#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hits.sh DIR - one boot of Debian's 6.1, a kernel without events of page cache hits: captures in which
# probes take their place, a capture without, a killed one, and runs of a workload at three limits. Brings
# the databases and what was printed to DIR/share; tests/live/guest.bats looks at them. Exit 77 with the
# reason where this host cannot run guests; nothing is booted but the emulated machine.
cd "$(dirname "$0")/../.." || exit 4
export LC_ALL=C
. tests/guest/lib.sh
dir=$1 memory=256M

guest_need mkfs.ext4
mkdir -p "$dir/share" && dir=$(cd "$dir" && pwd)
guest_kernel linux-image-amd64 6.1
guest_workload
guest_initrd ./pagereel "$dir/workload"
guest_image 48M 32

cat >"$dir/share/go.sh" <<'END'
mkdir -p /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup
echo 0 >/sys/kernel/mm/lru_gen/enabled
cd /tmp
echo 'the guest is up'
events=/sys/kernel/tracing/dynamic_events
pagereel doctor >/host/doctor.txt 2>&1
reads='for i in 1 2 3; do dd if=/img/data of=/dev/null bs=64k count=100; done; dd if=/img/data of=/dev/null bs=6000 skip=7 count=500; exec cat /img/tail'
dd if=/img/data of=/img/tail bs=1000 count=13 2>/dev/null; sync; echo 3 >/proc/sys/vm/drop_caches

pagereel capture -o hits.db -- sh -c "$reads" >/dev/null 2>/host/hits.txt
wc -c <$events >/host/left.txt
echo 3 >/proc/sys/vm/drop_caches
pagereel capture --no-probes -o fills.db -- sh -c "$reads" >/dev/null 2>/host/fills.txt
pagereel capture -o /nowhere/x.db -- true 2>/host/failed.txt
pagereel capture -o gone.db -- /no/such/program 2>>/host/failed.txt
wc -c <$events >>/host/left.txt
pagereel capture -o mapped.db -- workload uniform /img/data pages=2000 nr=4000 mapped=1 random=1 2>/host/mapped.txt

pagereel capture -o killed.db -d 60s >/dev/null 2>&1 &
capture=$!
for i in $(seq 1 100); do
	[ "$(cat /sys/kernel/tracing/instances/pagereel*demand/tracing_on 2>/dev/null)" = 1 ] && break
	usleep 300000
done
kill -9 $capture; wait $capture 2>/dev/null
grep -c 'pagereel_' $events >/host/killed.txt
pagereel doctor | grep 'left over' >>/host/killed.txt
pagereel doctor --clean >>/host/killed.txt
wc -c <$events >>/host/killed.txt
ls /sys/kernel/tracing/instances | wc -l >>/host/killed.txt

for mb in 10 14 20; do
	pagereel capture --max-cpu 100 --memory ${mb}M -o $mb.db -- workload zipf /img/data pages=8192 nr=30000 random=1 \
		>/dev/null 2>/host/$mb.txt
done
for db in hits fills mapped 10 14 20; do cp $db.db /host/$db.db; done
echo done >/host/done.txt
END
rm -f "$dir/share/"*.txt "$dir/share/"*.db
nice tests/guest/run.sh "$dir/kernel/$version" "$initrd" $memory "$dir/share" go.sh "${GUEST_SECONDS:-420}" >"$dir/console" 2>&1
rc=$?
[ -e "$dir/share/done.txt" ] && exit 0
[ $rc != 124 ] && [ $rc != 137 ] || guest_skip "emulation is too slow here (GUEST_SECONDS=${GUEST_SECONDS:-420})"
grep -q 'the guest is up' "$dir/console" || guest_skip "no guest starts here: $(tail -1 "$dir/console")"
echo 'hits.sh: the guest did not get to its end:'
tail -30 "$dir/console"
exit 1
