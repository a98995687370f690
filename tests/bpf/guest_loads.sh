# Runs in the guest, in virtual time: instances of a queue discipline below htb (or, with KIND bpf, with a rate of their own) on loads of TCP and UDP.
# The lines in front of these set KIND, NAME, OPTIONS, INSTANCES, WARM and MEASURED in seconds, and LOADS: words of KBPS of the link, FLOWS of TCP,
# milliseconds of RTT and kb/s of UDP, joined by colons. Each instance is a new qdisc, with a new hash and new flows.
for name in src dst; do ip netns exec $name sh -c 'echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save'; done

for load in $LOADS; do
    IFS=: read kbps flows rtt udp <<EOF
$load
EOF
    echo "qdisc replace dev far root netem delay ${rtt}ms limit 10000" >/tmp/delay
    ip netns exec dst tc -batch /tmp/delay
    cat >/tmp/add <<EOF
qdisc add dev near root handle 1: htb default 1
class add dev near parent 1: classid 1:1 htb rate ${kbps}kbit burst 1514 cburst 1514
qdisc add dev near parent 1:1 $NAME $OPTIONS
EOF
    instance=0
    while [ $instance -lt $INSTANCES ]; do
        instance=$((instance + 1))
        if [ $KIND = bpf ]; then fairdropd add dev near root $NAME $OPTIONS rate ${kbps}kbit; else tc -batch /tmp/add; fi || echo "FAILED $NAME"
        echo "LOAD $load $instance"
        flows $flows $udp $WARM $MEASURED
        [ $instance = 1 ] && tc -s -d qdisc show dev near | tr '\n' ' ' && echo
        tc qdisc del dev near root
        # What is on its way arrives.
        sleep 1
    done
done
echo "KERNEL $(uname -r)"
