# Runs in the guest, in virtual time: 32 kernel TCP flows and one UDP flow over a link of 1 Mb/s, at each rate of UDP. The lines in front of
# these set how: KIND (bpf or kernel), NAME, OPTIONS, RATES in kb/s of packets of 1000 bytes, WARM and MEASURED in seconds. Lines that begin with
# SAMPLE are read by scripts/qdisc_shares.py.
fairdropd() { /bin/fairdropd qdisc --objects /objects "$@"; }
for name in src dst; do ip netns add $name; done
ip link add left type veth peer name s0 netns src
ip link add near type veth peer name far netns dst
ip addr add 10.8.0.1/24 dev left
ip addr add 10.9.0.1/24 dev near
ip link set left up
# Packets are counted one by one: none are joined.
ip link set near gso_max_segs 1 up
echo 1 >/proc/sys/net/ipv4/ip_forward
ip netns exec src sh -c 'ip addr add 10.8.0.2/24 dev s0; ip link set s0 gso_max_segs 1 up; ip link set lo up; ip route add default via 10.8.0.1'
ip netns exec dst sh -c 'ip addr add 10.9.0.2/24 dev far; ip link set far up; ip link set lo up; ip route add default via 10.9.0.1
    tc qdisc add dev far root netem delay 6ms limit 10000'

attach() {
    if [ $KIND = bpf ]; then
        fairdropd add dev near root $NAME $OPTIONS rate 1mbit
    else
        tc qdisc add dev near root handle 1: htb default 1
        tc class add dev near parent 1: classid 1:1 htb rate 1mbit burst 1514 cburst 1514
        tc qdisc add dev near parent 1:1 $NAME $OPTIONS
    fi
}

# The hosts are another machine than the router: a socket's hash, which stays with its packets here, does not change after a timeout.
ip netns exec src sh -c 'echo 0 >/proc/sys/net/core/txrehash'

# What UDP has sent, what it has received, and all octets received.
sample() {
    echo "SAMPLE $1 $2 $(ip netns exec src grep '^Udp: [0-9]' /proc/net/snmp) | $(ip netns exec dst grep '^Udp: [0-9]' /proc/net/snmp) | $(ip netns exec dst grep '^IpExt: [0-9]' /proc/net/netstat)"
}

for rate in $RATES; do
    attach || { echo "FAILED attach $NAME"; break; }
    # 972 bytes of data are a packet of 1000.
    ip netns exec dst iperf3 -s -1 -D -p 5201
    ip netns exec dst iperf3 -s -1 -D -p 5202
    sleep 1
    # A segment of TCP is a packet of 1000 bytes, too.
    ip netns exec src iperf3 -c 10.9.0.2 -p 5202 -P 32 -C reno -M 960 -t 3600 >/dev/null 2>&1 &
    tcp=$!
    sleep 1
    ip netns exec src iperf3 -c 10.9.0.2 -p 5201 -u -b $((rate * 972)) -l 972 -t 3600 >/dev/null 2>&1 &
    udp=$!
    sleep $WARM
    sample $rate begin
    sleep $MEASURED
    sample $rate end
    kill $tcp $udp
    [ $KIND = bpf ] && fairdropd show -j dev near
    tc -s qdisc show dev near | grep -A1 "$NAME" | tr '\n' ' '
    echo
    tc qdisc del dev near root
    sleep 5
    for pid in $(ip netns pids dst) $(ip netns pids src); do kill -9 $pid; done 2>/dev/null
    sleep 1
done
echo "KERNEL $(uname -r)"
