# Runs in the guest. Every program is attached to one end of a link, gets 5 seconds of traffic, is changed and replaced under it, and is
# added and deleted. Lines that begin with a word in capitals are read by scripts/qdisc_smoke.py.
fairdropd() { /bin/fairdropd qdisc --objects /objects "$@"; }

ip netns add far
ip link add near type veth peer name far netns far
ip addr add 10.9.0.1/24 dev near
# The kernel's counters have segments of a joined packet one by one, those of a program joined packets: none are joined here.
ip link set near gso_max_segs 1 up
ip netns exec far sh -c 'ip addr add 10.9.0.2/24 dev far; ip link set far up; ip link set lo up'
ip netns exec far iperf3 -s -D -p 5201
ip netns exec far iperf3 -s -D -p 5202
sleep 1

# Seconds of 8 Mb/s of UDP beside TCP.
traffic() {
    iperf3 -c 10.9.0.2 -p 5201 -u -b 8M -l 1000 -t "$1" >/dev/null 2>&1 &
    udp=$!
    iperf3 -c 10.9.0.2 -p 5202 -t "$1" >/dev/null 2>&1
    wait $udp
}

# Both counters at a time at which no packet came: the kernel itself asks for neighbours now and then.
state() {
    for try in 1 2 3 4 5 6 7 8 9; do
        ours=$(fairdropd show -j dev near)
        kernel=$(tc -s -j qdisc show dev near)
        [ "$ours" = "$(fairdropd show -j dev near)" ] && break
    done
    echo "STATE $1 $2"
    echo "FAIRDROPD $ours"
    echo "TC $kernel"
}

# As many as the kernel has allocated.
skbs() { grep -E '^skbuff_head_cache|^skbuff_fclone_cache' /proc/slabinfo | tr -s ' ' | cut -d' ' -f1,2 | tr '\n' ' '; }

traffic 1
echo "SKBS before $(skbs)"
for discipline in red choke chokew ward collar; do
    case $discipline in
    red) options="limit 100p min 10p max 50p probability 0.1 w_q 0.01" ;;
    choke) options="limit 100 min 10 max 50 candidates 2 w_q 0.01" ;;
    chokew) options="limit 100 l_th 5 l_minus 10 l_plus 20 p_plus 0.02 weights 1,2 classes 46:1" ;;
    ward) options="limit 100" ;;
    collar) options="limit 100 target 20ms" ;;
    esac
    begin=$(cut -d' ' -f1 /proc/uptime)
    fairdropd add dev near root $discipline $options rate 4mbit || { echo "FAILED add $discipline"; continue; }
    echo "LOADED $discipline $begin $(cut -d' ' -f1 /proc/uptime)"
    traffic 5
    state $discipline traffic
    fairdropd show -s dev near

    # In place, with packets waiting; the second limit is beyond the ring's memory.
    traffic 1 &
    sleep 0.5
    fairdropd change dev near root $discipline limit 50${unit:-p} || echo "FAILED change $discipline"
    fairdropd change dev near root $discipline limit 5000p && echo "FAILED a limit beyond the memory was taken"
    # The same program can't be a second qdisc.
    kind=$(tc qdisc show dev near | cut -d' ' -f2)
    ip netns exec far tc qdisc add dev far root "$kind" 2>/dev/null && echo "FAILED $discipline was attached twice"
    wait
    state $discipline change

    iperf3 -c 10.9.0.2 -p 5201 -u -b 8M -l 1000 -t 60 >/dev/null 2>&1 &
    udp=$!
    iperf3 -c 10.9.0.2 -p 5202 -t 60 >/dev/null 2>&1 &
    tcp=$!
    sleep 1
    for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do
        echo "qdisc del dev near root"
        echo "qdisc add dev near root $kind"
    done | tc -batch - || echo "FAILED to delete and add $discipline 25 times"
    fairdropd replace dev near root $discipline limit 200p rate 4mbit || echo "FAILED replace $discipline"
    sleep 1
    kill $udp $tcp
    wait
    sleep 1
    state $discipline replaced

    # Settings that somebody else writes are not taken: a plain FIFO is. Its first state reconciles, but for what it counts as unchecked.
    poke "/sys/fs/bpf/fairdrop/$(tc qdisc show dev near | cut -d' ' -f2)/config" || echo "FAILED poke $discipline"
    traffic 1
    state $discipline poked
    fairdropd replace dev near root $discipline limit 200p rate 4mbit || echo "FAILED replace after poke $discipline"

    # With a full queue.
    traffic 1 &
    sleep 0.5
    fairdropd del dev near root || echo "FAILED del $discipline"
    wait
    ls /sys/fs/bpf/fairdrop | grep -q . && echo "FAILED a program of $discipline is left"
done
sleep 1
echo "SKBS after $(skbs)"
for wrong in "limit 0" "limit 300 min 70 max 60" "ecn" "candidates 9"; do
    echo "REFUSED $(fairdropd add dev near root choke $wrong 2>&1)"
done
fairdropd show -j dev near
echo "KERNEL $(uname -r)"
dmesg | grep -iE 'warning:|bug:|oops|leak' && echo "FAILED the kernel complains"
exit 0
