# Runs in the guest. Every program is deleted and added a thousand times under traffic, is flooded, and is deleted with a full queue; then
# one stands below each class of mq. Lines that begin with a word in capitals are read by scripts/qdisc_lab.py.
fairdropd() { /bin/fairdropd qdisc --objects /objects "$@"; }
ip netns add far
ip link add near numtxqueues 2 type veth peer name far netns far
ip addr add 10.9.0.1/24 dev near
ip link set near gso_max_segs 1 up
ip netns exec far sh -c 'ip addr add 10.9.0.2/24 dev far; ip link set far up; ip link set lo up'
ip netns exec far iperf3 -s -D -p 5201
ip netns exec far iperf3 -s -D -p 5202
sleep 1
skbs() { grep -E '^skbuff_head_cache|^skbuff_fclone_cache' /proc/slabinfo | tr -s ' ' | cut -d' ' -f1,2 | tr '\n' ' '; }
# As fast as it can.
flood() { iperf3 -c 10.9.0.2 -p 5201 -u -b 0 -l 1000 -t "$1" >/dev/null 2>&1; }

flood 1
echo "SKBS before $(skbs)"
for discipline in red choke chokew ward collar; do
    fairdropd add dev near root $discipline limit 100p rate 4mbit || { echo "FAILED add $discipline"; continue; }
    kind=$(tc qdisc show dev near | cut -d' ' -f2 | head -n 1)
    iperf3 -c 10.9.0.2 -p 5201 -u -b 8M -l 1000 -t 600 >/dev/null 2>&1 &
    udp=$!
    iperf3 -c 10.9.0.2 -p 5202 -t 600 >/dev/null 2>&1 &
    tcp=$!
    sleep 1
    round=0
    while [ $round -lt 1000 ]; do
        echo "qdisc del dev near root"
        echo "qdisc add dev near root $kind"
        round=$((round + 1))
    done | tc -batch - && echo "ROUNDS $discipline 1000" || echo "FAILED to delete and add $discipline 1000 times"
    kill $udp $tcp
    wait
    fairdropd replace dev near root $discipline limit 100p rate 4mbit || echo "FAILED replace $discipline"
    flood 2
    echo "FLOOD $discipline $(fairdropd show -j dev near)"
    flood 2 &
    sleep 1
    fairdropd del dev near root || echo "FAILED del $discipline"
    wait
    ls /sys/fs/bpf/fairdrop | grep -q . && echo "FAILED a program of $discipline is left"
done
tc qdisc add dev near root handle 1: mq || echo "FAILED mq"
for class in 1 2; do
    fairdropd add dev near parent 1:$class choke limit 100 rate 4mbit || echo "FAILED below mq, class $class"
done
flood 2
echo "MQ $(fairdropd show -j dev near)"
for class in 1 2; do
    fairdropd del dev near parent 1:$class || echo "FAILED delete below mq, class $class"
done
tc qdisc del dev near root
sleep 2
echo "SKBS after $(skbs)"
if [ -e /sys/kernel/debug/kmemleak ]; then
    echo scan >/sys/kernel/debug/kmemleak
    echo "KMEMLEAK $(wc -l </sys/kernel/debug/kmemleak)"
fi
dmesg | grep -iE 'warning:|bug:|oops|leak' && echo "FAILED the kernel complains"
echo "KERNEL $(uname -r)"
