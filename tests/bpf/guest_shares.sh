# Runs in the guest, in virtual time: 32 kernel TCP flows and one UDP flow over a link of 1 Mb/s, at each rate of UDP. The lines in front of
# these set how: KIND (bpf or kernel), NAME, OPTIONS, RATES in kb/s of packets of 1000 bytes, WARM and MEASURED in seconds. Lines that begin with
# SAMPLE are read by experiments/kernel_shares/campaign.py.
ip netns exec dst tc qdisc add dev far root netem delay 6ms limit 10000

attach() {
    if [ $KIND = bpf ]; then
        fairdropd add dev near root $NAME $OPTIONS rate 1mbit
    else
        tc qdisc add dev near root handle 1: htb default 1
        tc class add dev near parent 1: classid 1:1 htb rate 1mbit burst 1514 cburst 1514
        tc qdisc add dev near parent 1:1 $NAME $OPTIONS
    fi
}

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
